"""MSK: three brokers in three zones, IAM only, its topics, and who may do what with them."""

import base64
import json
from collections.abc import Sequence
from typing import Final

from aws_cdk import Fn, Names
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_msk as msk
from constructs import Construct

from infra.aws.constructs.calls import call, log_group
from infra.aws.constructs.network import Network
from infra.aws.constructs.readers import READERS
from infra.aws.constructs.storage import Storage
from infra.aws.profiles import TASKS_POOL, Profile
from infra.aws.profiles import Broker as Size
from infra.local.mapping import mapped
from lamplighter.adapters.kafka.config import topic_config
from lamplighter.contracts.topics import all_topics, job_runs_topics, mapping_group
from lamplighter.domain.job import DEFAULT_POOL
from lamplighter.ports.bus import Topic

# Where brokers ask for IAM.
PORT: Final = 9098
REPLICAS: Final = 3
# Topics are made by the deployment: a misspelt name must fail, not become a topic.
_PROPERTIES: Final = """auto.create.topics.enable=false
default.replication.factor=3
min.insync.replicas=2
unclean.leader.election.enable=false
"""


class Broker(Construct):
    def __init__(
        self,
        scope: Construct,
        name: str,
        profile: Profile,
        size: Size,
        *,
        network: Network,
        storage: Storage,
    ) -> None:
        super().__init__(scope, name)
        self._profile = profile
        self.brokers = size.brokers
        self.express = size.express
        self.door = network.group("Broker", "MSK")
        self.door.add_ingress_rule(network.app, ec2.Port.tcp(PORT), "functions and tasks")
        # Lambda's pollers live in the cluster's own group: they must reach the brokers, and AWS.
        for port in (PORT, 443):
            self.door.add_ingress_rule(self.door, ec2.Port.tcp(port), "mappings' pollers")
        # From there they set aside what fails: AWS asks for an endpoint of SQS, in any mode.
        network.let_to_endpoints(self.door, "mappings' pollers")
        self.cluster = self._cluster(size, network, storage)
        self.topics = {topic.name: self._topic(topic) for topic in topics(profile)}
        self.servers = self._bootstrap()

    @property
    def arn(self) -> str:
        return str(self.cluster.attr_arn)

    def metric(self, name: str, number: int) -> cloudwatch.Metric:
        """Of one broker; they are counted from 1."""
        return cloudwatch.Metric(
            namespace="AWS/Kafka",
            metric_name=name,
            statistic="Maximum",
            dimensions_map={
                "Cluster Name": self.cluster.cluster_name,
                "Broker ID": str(number),
            },
        )

    def let_count(self, who: iam.IGrantable) -> None:
        """See topics, and how far each group has come."""
        self._let(who, "cluster", ["Connect", "DescribeCluster"], [""])
        self._let(who, "topic", ["DescribeTopic"], list(self.topics))
        self._let(who, "group", ["DescribeGroup"], groups(self._profile))

    def let_publish(self, who: iam.IGrantable, names: Sequence[str] | None = None) -> None:
        """To all topics, or to these. An idempotent producer asks the cluster for its number."""
        self._let(who, "cluster", ["Connect", "WriteDataIdempotently"], [""])
        self._let(who, "topic", ["DescribeTopic", "WriteData"], names or list(self.topics))

    def let_read(self, who: iam.IGrantable, names: Sequence[str], as_: Sequence[str]) -> None:
        """These topics, as these groups."""
        self._let(who, "cluster", ["Connect", "DescribeCluster"], [""])
        self._let(who, "topic", ["DescribeTopic", "ReadData"], names)
        self._let(who, "group", ["DescribeGroup", "AlterGroup"], as_)

    def let_map(self, who: iam.IGrantable) -> None:
        """Lambda's mappings ask for the cluster's settings as well; no reader of our own does."""
        self._let(who, "cluster", ["DescribeClusterDynamicConfiguration"], [""])

    def let_make_topics(self, who: iam.IGrantable) -> None:
        """Those that are missing: here none, for the deployment has made them all."""
        self._let(who, "cluster", ["Connect"], [""])
        self._let(who, "topic", ["DescribeTopic", "CreateTopic"], list(self.topics))

    def _let(
        self, who: iam.IGrantable, kind: str, actions: Sequence[str], names: Sequence[str]
    ) -> None:
        iam.Grant.add_to_principal(
            grantee=who,
            actions=[f"kafka-cluster:{action}" for action in actions],
            resource_arns=[self._arn_of(kind, name) for name in names],
        )

    def _arn_of(self, kind: str, name: str) -> str:
        """`arn:…:topic/<cluster>/<its id>/<name>`, from the cluster's own."""
        if kind == "cluster":
            return self.arn
        pieces = Fn.split(":cluster/", self.arn)
        parts = [Fn.select(0, pieces), f":{kind}/", Fn.select(1, pieces), f"/{name}"]
        return str(Fn.join("", parts))

    def _cluster(self, size: Size, network: Network, storage: Storage) -> msk.CfnCluster:
        log = log_group(self, "Log", self._profile)
        # AWS asks for a name; it is the stack's, and nothing that outlives the stack has it.
        name = Names.unique_resource_name(self, max_length=50, separator="-")
        return msk.CfnCluster(
            self,
            "Cluster",
            cluster_name=name,
            kafka_version=size.version,
            number_of_broker_nodes=size.brokers,
            broker_node_group_info=self._nodes(size, network),
            client_authentication=msk.CfnCluster.ClientAuthenticationProperty(
                sasl=msk.CfnCluster.SaslProperty(iam=msk.CfnCluster.IamProperty(enabled=True)),
                unauthenticated=msk.CfnCluster.UnauthenticatedProperty(enabled=False),
            ),
            encryption_info=msk.CfnCluster.EncryptionInfoProperty(
                encryption_at_rest=msk.CfnCluster.EncryptionAtRestProperty(
                    data_volume_kms_key_id=storage.key.key_arn
                ),
                encryption_in_transit=msk.CfnCluster.EncryptionInTransitProperty(
                    client_broker="TLS", in_cluster=True
                ),
            ),
            configuration_info=None if size.express else self._configuration(name),
            logging_info=msk.CfnCluster.LoggingInfoProperty(
                broker_logs=msk.CfnCluster.BrokerLogsProperty(
                    cloud_watch_logs=msk.CfnCluster.CloudWatchLogsProperty(
                        enabled=True, log_group=log.log_group_name
                    )
                )
            ),
        )

    def _nodes(self, size: Size, network: Network) -> msk.CfnCluster.BrokerNodeGroupInfoProperty:
        volume = size.volume_gigabytes
        return msk.CfnCluster.BrokerNodeGroupInfoProperty(
            client_subnets=network.vpc.select_subnets(subnet_group_name="inside").subnet_ids,
            instance_type=size.instance_type,
            security_groups=[self.door.security_group_id],
            storage_info=msk.CfnCluster.StorageInfoProperty(
                ebs_storage_info=msk.CfnCluster.EBSStorageInfoProperty(volume_size=volume)
            )
            if volume
            else None,
        )

    def _configuration(self, name: str) -> msk.CfnCluster.ConfigurationInfoProperty:
        """Express brokers have these as their own defaults, and refuse to be told some of them.

        It says no version of Kafka: another one would replace it, and the name would be taken.
        """
        made = msk.CfnConfiguration(self, "Configuration", name=name, server_properties=_PROPERTIES)
        return msk.CfnCluster.ConfigurationInfoProperty(
            arn=made.attr_arn, revision=made.attr_latest_revision_revision
        )

    def _topic(self, topic: Topic) -> msk.CfnTopic:
        settings = topic_config(retention_hours=topic.retention_hours)
        return msk.CfnTopic(
            self,
            f"Topic-{topic.name}",
            cluster_arn=self.arn,
            topic_name=topic.name,
            partition_count=topic.partitions,
            replication_factor=REPLICAS,
            # JSON, which no page of AWS's says: other tools that make topics send it.
            configs=base64.b64encode(json.dumps(settings).encode()).decode(),
        )

    def _bootstrap(self) -> str:
        """CloudFormation knows a cluster's ARN and not its addresses: AWS is asked for them."""
        asked = call(
            self,
            "Bootstrap",
            self._profile,
            action=("kafka", "GetBootstrapBrokers"),
            parameters={"ClusterArn": self.arn},
            identity="bootstrap-brokers",
            may=[iam.PolicyStatement(actions=["kafka:GetBootstrapBrokers"], resources=[self.arn])],
        )
        return str(asked.get_response_field("BootstrapBrokerStringSaslIam"))


def topics(profile: Profile) -> list[Topic]:
    """The contract's; with a partition for each task that there may be, since more would idle."""
    found = {topic.name: topic for topic in all_topics(profile.windows)}
    of_tasks = job_runs_topics(TASKS_POOL, partitions=profile.tasks.most)
    return list((found | {topic.name: topic for topic in of_tasks}).values())


def groups(profile: Profile) -> list[str]:
    """All that read: a group for each mapping, and one for the workers of each other pool.

    Those of a pool whose workers are elsewhere too: the leader counts what they have not read.
    """
    read = [mapped(function, DEFAULT_POOL) for function in READERS]
    of_mappings = [mapping_group(each.group, topic) for each in read for topic in each.topics]
    others = [pool for pool in profile.windows if pool != DEFAULT_POOL]
    return of_mappings + [mapped("executor", pool).group for pool in others]
