"""What calls executor, recorder and resolver."""

from typing import Any

import pytest

from infra.local.mapping import mapped
from lamplighter.domain.job import DEFAULT_POOL
from tests.infra.aws.template import Template, flat, references

pytestmark = pytest.mark.xdist_group("aws")

READERS = ("executor", "recorder", "resolver")
READ = {
    (function, topic) for function in READERS for topic in mapped(function, DEFAULT_POOL).topics
}


def _mappings(template: Template) -> dict[str, dict[str, Any]]:
    found = template.of_type("AWS::Lambda::EventSourceMapping")
    return {name: each["Properties"] for name, each in found.items()}


def _function(template: Template, mapping: dict[str, Any]) -> str:
    logical = mapping["FunctionName"]["Fn::GetAtt"][0]
    handler: str = template.resources[logical]["Properties"]["Handler"]
    return handler.split(".")[1]


def _schema(template: Template) -> str:
    (found,) = template.of_type("Custom::LamplighterSchema")
    return found


def test_every_topic_that_is_read_has_one_mapping(with_kafka: Template) -> None:
    found = [
        (_function(with_kafka, each), topic)
        for each in _mappings(with_kafka).values()
        for topic in each["Topics"]
    ]

    assert sorted(found) == sorted(READ)
    assert {len(each["Topics"]) for each in _mappings(with_kafka).values()} == {1}


def test_every_queue_that_is_read_has_one_mapping(with_sqs: Template) -> None:
    found = [
        (_function(with_sqs, each), flat(each["EventSourceArn"]))
        for each in _mappings(with_sqs).values()
    ]

    assert len(set(found)) == len(found) == len(READ)


def test_a_mapping_is_on_and_reads_the_deployments_own_bus(template: Template) -> None:
    """One that is not told to be on is; a later deployment leaves what was switched off by hand."""
    sources = {*template.of_type("AWS::MSK::Cluster"), *template.of_type("AWS::SQS::Queue")}

    for name, mapping in _mappings(template).items():
        assert mapping.get("Enabled", True) is True, name
        (source,) = references(mapping["EventSourceArn"])
        assert source in sources, name


def test_a_mapping_reads_in_batches_of_the_profiles_size(template: Template) -> None:
    readings = template.profile.readings

    for name, mapping in _mappings(template).items():
        alone = "jobrequests" in name
        reading = readings["job-requests" if alone else _function(template, mapping)]
        assert mapping["BatchSize"] == reading.batch, name
        assert mapping["MaximumBatchingWindowInSeconds"] == reading.window, name


def test_a_mapping_waits_for_its_topic(with_kafka: Template) -> None:
    topics = {
        each["Properties"]["TopicName"]: name
        for name, each in with_kafka.of_type("AWS::MSK::Topic").items()
    }

    for name, mapping in _mappings(with_kafka).items():
        assert topics[mapping["Topics"][0]] in with_kafka.resources[name]["DependsOn"]


def test_a_mapping_waits_for_the_tables(template: Template) -> None:
    for name in _mappings(template):
        assert _schema(template) in template.before(name)


def test_a_mapping_waits_for_what_its_function_may_do(template: Template) -> None:
    """AWS refuses a mapping whose function cannot read the source yet."""
    for name, mapping in _mappings(template).items():
        role = template.role_of(_function(template, mapping))
        policies = {
            policy
            for policy, each in template.of_type("AWS::IAM::Policy").items()
            if {"Ref": role} in each["Properties"]["Roles"]
        }
        assert policies
        assert policies <= template.before(name)


def test_groups_are_each_mappings_own(with_kafka: Template) -> None:
    """AWS: the consumer group must be unique among all Kafka event sources."""
    groups = [
        each["AmazonManagedKafkaEventSourceConfig"]["ConsumerGroupId"]
        for each in _mappings(with_kafka).values()
    ]

    assert len(set(groups)) == len(groups)
    assert "executor.default.job-runs.p1" in groups
    assert "recorder.job-events" in groups


def test_pollers_are_provisioned_and_no_more_than_partitions(with_kafka: Template) -> None:
    partitions = {
        each["TopicName"]: each["PartitionCount"]
        for each in with_kafka.properties("AWS::MSK::Topic")
    }

    for mapping in _mappings(with_kafka).values():
        pollers = mapping["ProvisionedPollerConfig"]
        assert 1 <= pollers["MinimumPollers"] <= pollers["MaximumPollers"]
        assert pollers["MaximumPollers"] <= partitions[mapping["Topics"][0]]


def test_pollers_share_one_group(with_kafka: Template) -> None:
    names = {
        each["ProvisionedPollerConfig"].get("PollerGroupName")
        for each in _mappings(with_kafka).values()
    }

    assert names == {"lamplighter"}


def test_pollers_are_enough_for_all_partitions_of_the_runs(with_kafka: Template) -> None:
    """Each has five calls under way at most, and a partition one."""
    for mapping in _mappings(with_kafka).values():
        if mapping["Topics"][0].startswith("job-runs."):
            assert mapping["ProvisionedPollerConfig"]["MaximumPollers"] * 5 >= 20


def test_a_poison_record_is_halved_out_and_set_aside(with_kafka: Template) -> None:
    """Endless retries, the default, would block the partition for good."""
    for mapping in _mappings(with_kafka).values():
        assert mapping["BisectBatchOnFunctionError"] is True
        assert 0 < mapping["MaximumRetryAttempts"] <= 10_000
        destination = mapping["DestinationConfig"]["OnFailure"]["Destination"]
        assert "SetAside" in flat(destination)


def test_what_is_written_nowhere_else_is_tried_longest(with_kafka: Template) -> None:
    retries = {
        each["Topics"][0]: each["MaximumRetryAttempts"] for each in _mappings(with_kafka).values()
    }

    assert retries["job-requests"] == 10_000


def test_failures_are_told_record_by_record(template: Template) -> None:
    for mapping in _mappings(template).values():
        assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]


def test_what_only_provisioned_pollers_heed_is_asked_of_no_others(template: Template) -> None:
    """AWS documents these for provisioned mode alone, and takes them silently otherwise."""
    heeded = {"MaximumRetryAttempts", "BisectBatchOnFunctionError", "MaximumRecordAgeInSeconds"}

    for mapping in _mappings(template).values():
        if heeded & mapping.keys():
            assert "ProvisionedPollerConfig" in mapping


def test_provisioned_pollers_and_a_scaling_limit_exclude_each_other(template: Template) -> None:
    for mapping in _mappings(template).values():
        assert ("ProvisionedPollerConfig" in mapping) != ("ScalingConfig" in mapping)


def test_batches_and_windows_are_what_aws_takes(template: Template) -> None:
    for mapping in _mappings(template).values():
        most = 10_000 if "Topics" in mapping else 10
        assert 1 <= mapping["BatchSize"] <= most
        # Half a second is the default; once set, it is whole seconds.
        assert mapping["MaximumBatchingWindowInSeconds"] in range(301)
        assert "FilterCriteria" not in mapping


def test_runs_are_not_kept_waiting_for_a_fuller_batch(template: Template) -> None:
    for mapping in _mappings(template).values():
        if _function(template, mapping) == "executor":
            assert mapping["MaximumBatchingWindowInSeconds"] == 0


def test_a_new_topic_is_read_from_its_beginning(with_kafka: Template) -> None:
    for mapping in _mappings(with_kafka).values():
        assert mapping["StartingPosition"] == "TRIM_HORIZON"


def test_sqs_readers_are_few_enough_for_a_new_account(with_sqs: Template) -> None:
    for mapping in _mappings(with_sqs).values():
        assert 2 <= mapping["ScalingConfig"]["MaximumConcurrency"] <= 10


def test_a_mappings_function_may_look_the_cluster_up(with_kafka: Template) -> None:
    for function in READERS:
        role = with_kafka.role_of(function)
        for action in (
            "kafka:DescribeClusterV2",
            "kafka:GetBootstrapBrokers",
            "kafka-cluster:DescribeClusterDynamicConfiguration",
        ):
            assert with_kafka.may(role, action), (function, action)


def test_a_mappings_function_may_read_as_its_group(with_kafka: Template) -> None:
    for mapping in _mappings(with_kafka).values():
        role = with_kafka.role_of(_function(with_kafka, mapping))
        topic = mapping["Topics"][0]
        group = mapping["AmazonManagedKafkaEventSourceConfig"]["ConsumerGroupId"]
        topics = [flat(arn) for arn in with_kafka.may(role, "kafka-cluster:ReadData")]
        groups = [flat(arn) for arn in with_kafka.may(role, "kafka-cluster:AlterGroup")]
        assert [arn for arn in topics if arn.endswith(f"/{topic}")]
        assert [arn for arn in groups if arn.endswith(f"/{group}") and ":group/" in arn]


def test_a_mappings_function_may_set_aside_without_a_key(with_kafka: Template) -> None:
    queue = with_kafka.one("AWS::SQS::Queue")

    assert queue["SqsManagedSseEnabled"] is True
    assert "KmsMasterKeyId" not in queue
    for function in READERS:
        assert with_kafka.may(with_kafka.role_of(function), "sqs:SendMessage")


def test_a_mappings_function_may_take_from_its_queue(with_sqs: Template) -> None:
    for mapping in _mappings(with_sqs).values():
        role = with_sqs.role_of(_function(with_sqs, mapping))
        for action in ("sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"):
            assert mapping["EventSourceArn"] in with_sqs.may(role, action)
