"""Database, cache and brokers: sizes and versions that no linter looks at."""

import base64
import json
from dataclasses import replace
from datetime import timedelta

import pytest

from infra.aws.constructs.broker import topics
from infra.aws.constructs.readers import READERS
from infra.aws.profiles import Profile
from infra.local.mapping import mapped
from lamplighter.adapters.kafka.config import topic_config
from lamplighter.adapters.memory.losses import LEFT_TO_RECORDER
from lamplighter.adapters.postgres.database import THRIFTY
from lamplighter.contracts.topics import JOB_EVENTS, all_topics
from lamplighter.domain.job import DEFAULT_POOL
from tests.infra.aws.template import Template, flat, references

pytestmark = pytest.mark.xdist_group("aws")


def test_the_database_has_a_range_that_aurora_takes(template: Template) -> None:
    scaling = template.one("AWS::RDS::DBCluster")["ServerlessV2ScalingConfiguration"]

    least, most = scaling["MinCapacity"], scaling["MaxCapacity"]
    assert 0 <= least < most <= 256
    assert least * 2 == int(least * 2)
    assert most >= 1


def test_only_a_database_that_may_reach_zero_pauses(template: Template) -> None:
    scaling = template.one("AWS::RDS::DBCluster")["ServerlessV2ScalingConfiguration"]

    if template.profile.name == "small":
        assert scaling["MinCapacity"] == 0
        assert 300 <= scaling["SecondsUntilAutoPause"] <= 86_400
    else:
        assert scaling["MinCapacity"] >= 0.5
        assert "SecondsUntilAutoPause" not in scaling


def test_nothing_keeps_a_connection_to_the_database_open(template: Template) -> None:
    assert not template.of_type("AWS::RDS::DBProxy")


def test_the_database_takes_tokens_and_is_encrypted(template: Template) -> None:
    cluster = template.one("AWS::RDS::DBCluster")

    assert cluster["EnableIAMDatabaseAuthentication"] is True
    assert cluster["StorageEncrypted"] is True
    assert "StorageKey" in flat(cluster["KmsKeyId"])
    assert template.one("AWS::RDS::DBClusterParameterGroup")["Parameters"] == {"rds.force_ssl": "1"}
    assert cluster["BackupRetentionPeriod"] >= 7


def test_the_large_database_does_not_pay_by_the_page(templates: dict[str, Template]) -> None:
    found = {
        name: each.one("AWS::RDS::DBCluster").get("StorageType") for name, each in templates.items()
    }

    assert found == {"small": None, "standard": None, "large": "aurora-iopt1"}


def test_the_database_has_connections_for_all_who_read_the_bus(template: Template) -> None:
    """Aurora gives about 100 for each ACU, 5,000 at most, and 2,000 where it may sleep."""
    profile = template.profile
    most = min(100 * profile.database.most_acu, 2_000 if profile.database.least_acu < 1 else 5_000)
    readers = sum(
        profile.functions[function].connections * _at_once(profile, function, topic)
        for function in READERS
        for topic in mapped(function, DEFAULT_POOL).topics
    )
    workers = profile.tasks.most * profile.tasks.connections
    assert readers + workers < most / 2  # the other half is for those who submit and ask


def _at_once(profile: Profile, function: str, topic: str) -> int:
    """Calls of a function that one mapping has under way at most; a poller has five."""
    reading = profile.readings[topic if topic in profile.readings else function]
    if profile.broker is None:
        return reading.most_invocations
    (partitions,) = (each.partitions for each in topics(profile) if each.name == topic)
    return min(5 * reading.most_pollers, partitions)


def test_more_pollers_than_the_database_bears_are_noticed(templates: dict[str, Template]) -> None:
    standard = templates["standard"].copy()
    busy = replace(standard.profile.readings["executor"], most_pollers=100)
    many = replace(standard.profile.functions["executor"], connections=40)
    standard.profile = replace(
        standard.profile,
        readings={**standard.profile.readings, "executor": busy},
        functions={**standard.profile.functions, "executor": many},
    )

    with pytest.raises(AssertionError):
        test_the_database_has_connections_for_all_who_read_the_bus(standard)


def test_the_cache_is_valkey_and_encrypted(template: Template) -> None:
    if template.profile.cache.node_type:
        group = template.one("AWS::ElastiCache::ReplicationGroup")
        assert (group["Engine"], group["EngineVersion"]) == ("valkey", "8.1")
        assert group["CacheNodeType"].startswith("cache.")
        assert group["NumCacheClusters"] == 3
        assert group["TransitEncryptionEnabled"] is True
        assert group["TransitEncryptionMode"] == "required"
        assert group["AutomaticFailoverEnabled"] is True
    else:
        cache = template.one("AWS::ElastiCache::ServerlessCache")
        assert (cache["Engine"], cache["MajorEngineVersion"]) == ("valkey", "8")
        limits = cache["CacheUsageLimits"]
        assert 1 <= limits["DataStorage"]["Maximum"] <= 5_000
        assert 1_000 <= limits["ECPUPerSecond"]["Maximum"] <= 15_000_000


@pytest.mark.parametrize("profile", ["small", "standard"])
def test_the_caches_name_is_one_that_aws_takes(
    profile: str, templates: dict[str, Template]
) -> None:
    name = templates[profile].one("AWS::ElastiCache::ServerlessCache")["ServerlessCacheName"]

    assert len(name) <= 40
    assert name == name.lower()
    assert name[0].isalpha()
    assert not name.endswith("-")
    assert "--" not in name


def test_functions_speak_tls_to_the_cache(template: Template) -> None:
    assert flat(template.variables("submit")["LAMPLIGHTER_VALKEY_URL"]).startswith("valkeys://")


def test_brokers_need_no_zookeeper(with_kafka: Template) -> None:
    assert with_kafka.one("AWS::MSK::Cluster")["KafkaVersion"].endswith(".kraft")


def test_a_new_version_of_kafka_replaces_no_configuration(with_kafka: Template) -> None:
    """Its list of versions cannot change unless its name does."""
    for each in with_kafka.properties("AWS::MSK::Configuration"):
        assert "KafkaVersionsList" not in each


def test_brokers_are_three_in_three_zones(with_kafka: Template) -> None:
    cluster = with_kafka.one("AWS::MSK::Cluster")
    nodes = cluster["BrokerNodeGroupInfo"]

    assert cluster["NumberOfBrokerNodes"] % 3 == 0
    assert len(nodes["ClientSubnets"]) == 3
    if nodes["InstanceType"].startswith("express."):
        assert "StorageInfo" not in nodes
        assert "ConfigurationInfo" not in cluster
    else:
        assert nodes["InstanceType"] == "kafka.m7g.large"
        assert nodes["StorageInfo"]["EBSStorageInfo"]["VolumeSize"] >= 50


def test_each_profile_has_its_kind_of_broker(templates: dict[str, Template]) -> None:
    kinds = {
        name: [
            each["BrokerNodeGroupInfo"]["InstanceType"].partition(".")[0]
            for each in template.properties("AWS::MSK::Cluster")
        ]
        for name, template in templates.items()
    }

    assert kinds == {"small": [], "standard": ["kafka"], "large": ["express"]}


def test_brokers_know_nobody_but_iam(with_kafka: Template) -> None:
    cluster = with_kafka.one("AWS::MSK::Cluster")

    assert cluster["ClientAuthentication"] == {
        "Sasl": {"Iam": {"Enabled": True}},
        "Unauthenticated": {"Enabled": False},
    }
    assert cluster["EncryptionInfo"]["EncryptionInTransit"] == {
        "ClientBroker": "TLS",
        "InCluster": True,
    }


def test_topics_are_the_contracts(with_kafka: Template) -> None:
    made = {each["TopicName"]: each for each in with_kafka.properties("AWS::MSK::Topic")}
    wanted = {topic.name: topic for topic in topics(with_kafka.profile)}

    assert made.keys() == {topic.name for topic in all_topics(with_kafka.profile.windows)}
    for name, topic in made.items():
        assert topic["PartitionCount"] == wanted[name].partitions
        assert topic["ReplicationFactor"] == 3


def test_topics_keep_what_the_contract_says_for_as_long(with_kafka: Template) -> None:
    """Base64 of a JSON object, as Terraform's resource sends it; properties would be refused."""
    made = {each["TopicName"]: each for each in with_kafka.properties("AWS::MSK::Topic")}

    for topic in topics(with_kafka.profile):
        settings = json.loads(base64.b64decode(made[topic.name]["Configs"]))
        assert settings == topic_config(retention_hours=topic.retention_hours)


def test_no_task_is_without_a_partition(with_kafka: Template) -> None:
    most = with_kafka.one("AWS::ApplicationAutoScaling::ScalableTarget")["MaxCapacity"]

    for topic in with_kafka.properties("AWS::MSK::Topic"):
        if topic["TopicName"].startswith("job-runs.tasks."):
            assert topic["PartitionCount"] >= most


def test_partitions_are_no_more_than_the_brokers_bear(with_kafka: Template) -> None:
    total = sum(
        each["PartitionCount"] * each["ReplicationFactor"]
        for each in with_kafka.properties("AWS::MSK::Topic")
    )

    assert total / with_kafka.one("AWS::MSK::Cluster")["NumberOfBrokerNodes"] <= 1_000


def test_queues_are_the_contracts_and_end_in_dead_letters(with_sqs: Template) -> None:
    queues = {each["QueueName"]: each for each in with_sqs.properties("AWS::SQS::Queue")}
    names = {
        f"lamplighter-{topic.name.replace('.', '-')}"
        for topic in all_topics(with_sqs.profile.windows)
    }

    assert queues.keys() == names
    for name, queue in queues.items():
        assert ("RedrivePolicy" in queue) is (name != "lamplighter-dead-letters")


def test_a_message_stays_hidden_for_six_times_its_reader(with_sqs: Template) -> None:
    queues = with_sqs.of_type("AWS::SQS::Queue")
    for mapping in with_sqs.properties("AWS::Lambda::EventSourceMapping"):
        (queue,) = references(mapping["EventSourceArn"])
        (function,) = references(mapping["FunctionName"])
        timeout = with_sqs.resources[function]["Properties"]["Timeout"]
        assert 6 * timeout <= queues[queue]["Properties"]["VisibilityTimeout"] <= 43_200


def test_an_outcome_comes_again_before_its_run_is_begun_again(with_sqs: Template) -> None:
    """A recorder that dies has its batch hidden for as long; after ten minutes the run is lost."""
    (events,) = (
        each
        for each in with_sqs.properties("AWS::SQS::Queue")
        if each["QueueName"].endswith(JOB_EVENTS.name)
    )

    assert timedelta(seconds=events["VisibilityTimeout"]) < LEFT_TO_RECORDER


def test_who_makes_keys_waits_for_a_database_that_wakes(with_sqs: Template) -> None:
    """Connecting is waited for as long as a resume takes, and then there is something to do."""
    profile = with_sqs.profile

    assert profile.functions["authorizer"].timeout >= THRIFTY.connect_seconds + 15
