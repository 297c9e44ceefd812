"""Types and versions that are sold: a misspelt one fails an hour into a deployment."""

from typing import Any, Final

import pytest
from aws_cdk.aws_rds import AuroraPostgresEngineVersion

from infra.aws.constructs.broker import topics
from tests.infra.aws.template import Template

pytestmark = pytest.mark.xdist_group("aws")

# Profile -> broker, cache node; neither cfn-lint nor the CDK knows what there is.
SOLD: Final = {
    "small": ([], []),
    "standard": (["kafka.m7g.large"], []),
    "large": (["express.m7g.large"], ["cache.r7g.xlarge"]),
}
# The first minor version of a major one that may rest at 0 ACU: Aurora's user guide, "How Aurora
# serverless works", the table of capacity ranges (0 to 256). Whatever is higher than the last may.
PAUSES_FROM: Final = {13: 15, 14: 12, 15: 7, 16: 3}


def test_brokers_and_nodes_are_of_types_that_there_are(template: Template) -> None:
    brokers = [
        each["BrokerNodeGroupInfo"]["InstanceType"]
        for each in template.properties("AWS::MSK::Cluster")
    ]
    nodes = [
        each["CacheNodeType"] for each in template.properties("AWS::ElastiCache::ReplicationGroup")
    ]

    assert (brokers, nodes) == SOLD[template.profile.name]


def test_the_database_is_serverless_with_a_writer_and_the_profiles_readers(
    example: Template,
) -> None:
    instances = example.properties("AWS::RDS::DBInstance")
    (cluster,) = example.of_type("AWS::RDS::DBCluster")

    assert len(instances) == 1 + example.profile.database.readers
    for each in instances:
        assert (each["DBInstanceClass"], each["Engine"]) == ("db.serverless", "aurora-postgresql")
        assert each["DBClusterIdentifier"] == {"Ref": cluster}
        # As large as the writer: of these tiers one takes over.
        assert each["PromotionTier"] in (0, 1)


def test_a_database_that_sleeps_is_of_a_version_that_can(example: Template) -> None:
    cluster = example.one("AWS::RDS::DBCluster")
    major, minor = (int(part) for part in cluster["EngineVersion"].split("."))

    assert cluster["Engine"] == "aurora-postgresql"
    assert cluster["EngineVersion"] == example.profile.database.version
    assert minor >= PAUSES_FROM.get(major, 0)
    assert major >= min(PAUSES_FROM)


def test_the_databases_version_is_one_that_aurora_has(example: Template) -> None:
    """As far as the CDK's own list knows; whether it is offered in a region, an account tells."""
    version = example.one("AWS::RDS::DBCluster")["EngineVersion"]

    assert hasattr(AuroraPostgresEngineVersion, f"VER_{version.replace('.', '_')}")


def test_the_database_takes_no_connection_without_tls(example: Template) -> None:
    """The parameters are nobody's until the cluster names their group."""
    ((name, group),) = example.of_type("AWS::RDS::DBClusterParameterGroup").items()
    cluster = example.one("AWS::RDS::DBCluster")

    assert cluster["DBClusterParameterGroupName"] == {"Ref": name}
    assert group["Properties"]["Parameters"]["rds.force_ssl"] == "1"
    major = cluster["EngineVersion"].partition(".")[0]
    assert group["Properties"]["Family"] == f"aurora-postgresql{major}"


def test_a_misspelt_topic_does_not_become_one(with_kafka: Template) -> None:
    """Express brokers have these as defaults, and no configuration."""
    if with_kafka.profile.broker and with_kafka.profile.broker.express:
        assert not with_kafka.of_type("AWS::MSK::Configuration")
    else:
        _told_to_take_no_new_topics(with_kafka)


def _told_to_take_no_new_topics(template: Template) -> None:
    ((name, made),) = template.of_type("AWS::MSK::Configuration").items()
    told: dict[str, Any] = dict(
        line.split("=") for line in made["Properties"]["ServerProperties"].splitlines()
    )

    assert told["auto.create.topics.enable"] == "false"
    assert (told["default.replication.factor"], told["min.insync.replicas"]) == ("3", "2")
    assert template.one("AWS::MSK::Cluster")["ConfigurationInfo"]["Arn"] == {
        "Fn::GetAtt": [name, "Arn"]
    }


def test_topics_are_of_the_cluster(with_kafka: Template) -> None:
    (cluster,) = with_kafka.of_type("AWS::MSK::Cluster")
    made = with_kafka.properties("AWS::MSK::Topic")

    assert len(made) == len(topics(with_kafka.profile))
    for each in made:
        assert each["ClusterArn"] == {"Fn::GetAtt": [cluster, "Arn"]}
