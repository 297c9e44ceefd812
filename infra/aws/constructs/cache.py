"""Valkey, encrypted on the way: serverless, or nodes where the load is large and steady."""

from typing import Final

from aws_cdk import Names
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_elasticache as elasticache
from constructs import Construct

from infra.aws.constructs.network import Network
from infra.aws.constructs.storage import Storage
from infra.aws.profiles import Cache as Size
from infra.aws.profiles import Profile

PORT: Final = 6379
# What AWS takes of a serverless cache's name, which must be lower case too.
MOST_CHARACTERS: Final = 40


class Cache(Construct):
    """All keys of a cell share one hash slot, so one shard is all that it can use."""

    def __init__(
        self, scope: Construct, name: str, profile: Profile, network: Network, storage: Storage
    ) -> None:
        super().__init__(scope, name)
        self._network = network
        self._storage = storage
        self.door = network.group("Cache", "Valkey", outbound=False)
        self.door.add_ingress_rule(network.app, ec2.Port.tcp(PORT), "functions and tasks")
        subnets = network.vpc.select_subnets(subnet_group_name="inside").subnet_ids
        size = profile.cache
        host = self._nodes(size, subnets) if size.node_type else self._serverless(size, subnets)
        self.url = f"valkeys://{host}:{PORT}"

    def _serverless(self, size: Size, subnets: list[str]) -> str:
        made = elasticache.CfnServerlessCache(
            self,
            "Serverless",
            engine="valkey",
            major_engine_version=size.version,
            # AWS asks for one. It is not retained, so it is free again when the stack is gone.
            serverless_cache_name=self._name(),
            cache_usage_limits=elasticache.CfnServerlessCache.CacheUsageLimitsProperty(
                data_storage=elasticache.CfnServerlessCache.DataStorageProperty(
                    unit="GB", maximum=size.most_gigabytes
                ),
                ecpu_per_second=elasticache.CfnServerlessCache.ECPUPerSecondProperty(
                    maximum=size.most_ecpu
                ),
            ),
            kms_key_id=self._storage.key.key_arn,
            security_group_ids=[self.door.security_group_id],
            subnet_ids=subnets,
            snapshot_retention_limit=size.snapshots or None,
        )
        self.resource = made
        return str(made.attr_endpoint_address)

    def _nodes(self, size: Size, subnets: list[str]) -> str:
        group = elasticache.CfnSubnetGroup(
            self, "Subnets", description="Valkey's nodes", subnet_ids=subnets
        )
        made = elasticache.CfnReplicationGroup(
            self,
            "Nodes",
            replication_group_description="waiting and due runs, statuses",
            engine="valkey",
            engine_version=size.version,
            cache_node_type=size.node_type,
            num_cache_clusters=size.nodes,
            automatic_failover_enabled=True,
            multi_az_enabled=True,
            transit_encryption_enabled=True,
            transit_encryption_mode="required",
            at_rest_encryption_enabled=True,
            kms_key_id=self._storage.key.key_arn,
            cache_subnet_group_name=group.ref,
            security_group_ids=[self.door.security_group_id],
            port=PORT,
            snapshot_retention_limit=size.snapshots,
            auto_minor_version_upgrade=True,
        )
        self.resource = made
        return str(made.attr_primary_end_point_address)

    def _name(self) -> str:
        name: str = Names.unique_resource_name(self, max_length=MOST_CHARACTERS, separator="-")
        return name.lower().strip("-")
