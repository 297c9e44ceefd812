"""Take one thing away from a template, and a test that is named here must fail."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.infra.aws import (
    test_alarms,
    test_api,
    test_data,
    test_deployment,
    test_functions,
    test_mappings,
    test_network,
    test_targets,
    test_tasks,
)
from tests.infra.aws.template import Template, flat, listed

pytestmark = pytest.mark.xdist_group("aws")

Change = Callable[[Template], None]
Check = Callable[[Template], None]


def _without(kind: str, holding: str = "") -> Change:
    """Remove the resources of a type whose id or content has this in it."""

    def change(template: Template) -> None:
        for name, each in list(template.of_type(kind).items()):
            if holding in name or holding in flat(each):
                del template.resources[name]

    return change


def _hidden(queue: str, seconds: int) -> Change:
    """How long what was taken from a queue stays hidden."""

    def change(template: Template) -> None:
        (found,) = (
            each
            for each in template.properties("AWS::SQS::Queue")
            if each["QueueName"] == f"lamplighter-{queue}"
        )
        found["VisibilityTimeout"] = seconds

    return change


def _set(kind: str, path: str, value: Any) -> Change:
    """Of the first resource of a type. None takes the property away."""

    def change(template: Template) -> None:
        target = template.properties(kind)[0]
        *way, last = path.split(".")
        for step in way:
            target = target[step]
        if value is None:
            del target[last]
        else:
            target[last] = value

    return change


def _independent(*kinds: str) -> Change:
    """Several where one says for the other what it waits for."""

    def change(template: Template) -> None:
        for each in template.resources.values():
            if each["Type"] in kinds:
                each.pop("DependsOn", None)

    return change


def _forbid(action: str) -> Change:
    def change(template: Template) -> None:
        for policy in template.properties("AWS::IAM::Policy"):
            for statement in policy["PolicyDocument"]["Statement"]:
                actions = [each for each in listed(statement["Action"]) if each != action]
                statement["Action"] = actions

    return change


def _variable(function: str, name: str, value: str) -> Change:
    def change(template: Template) -> None:
        template.variables(function)[name] = value

    return change


_ESM = "AWS::Lambda::EventSourceMapping"
_DB = "AWS::RDS::DBCluster"
_MSK = "AWS::MSK::Cluster"
_SCHEMA = "Custom::LamplighterSchema"
_FUNCTION = "AWS::Lambda::Function"
_ENDPOINT = "AWS::EC2::VPCEndpoint"

# Profile, what is taken away, and the test that notices.
CASES: list[tuple[str, Change, Check]] = [
    ("standard", _independent(_ESM), test_mappings.test_a_mapping_waits_for_its_topic),
    ("small", _independent(_ESM), test_mappings.test_a_mapping_waits_for_the_tables),
    ("large", _independent(_ESM, _FUNCTION),
     test_mappings.test_a_mapping_waits_for_what_its_function_may_do),
    ("standard", _without("AWS::EC2::SecurityGroupIngress", "pollers"),
     test_network.test_functions_and_pollers_reach_the_brokers),
    *(
        ("large", _forbid(action), test_mappings.test_a_mappings_function_may_look_the_cluster_up)
        for action in ("kafka:DescribeClusterV2", "kafka:GetBootstrapBrokers")
    ),
    *(
        ("large", _forbid(action), test_mappings.test_a_mappings_function_may_read_as_its_group)
        for action in ("kafka-cluster:ReadData", "kafka-cluster:AlterGroup")
    ),
    ("standard", _forbid("sqs:SendMessage"),
     test_mappings.test_a_mappings_function_may_set_aside_without_a_key),
    ("standard", _forbid("ec2:CreateNetworkInterface"),
     test_functions.test_functions_in_the_network_may_have_interfaces_there),
    ("small", _without("AWS::IAM::ManagedPolicy"),
     test_targets.test_jobs_call_no_function_of_the_scheduler_whatever_they_may_call),
    ("small", _variable("executor", "LAMPLIGHTER_OWN_SUBNETS", "<NetworkVpcinsideSubnet1>"),
     test_targets.test_who_takes_and_who_runs_jobs_knows_the_subnets_of_its_own_network),
    ("small", _set(_FUNCTION, "ReservedConcurrentExecutions", 5),
     test_functions.test_no_concurrency_is_reserved),
    ("standard", _independent(_SCHEMA),
     test_deployment.test_tables_wait_for_the_writer_and_for_the_login),
    ("standard", _independent("Custom::AWS", "AWS::IAM::Policy"),
     test_deployment.test_tables_wait_for_the_writer_and_for_the_login),
    ("standard", _independent(_SCHEMA),
     test_deployment.test_tables_wait_for_the_deployments_own_topics),
    ("small", _set(_SCHEMA, "digest", "1"),
     test_deployment.test_tables_are_made_again_when_a_migration_is_new),
    ("small", _independent("AWS::Events::Rule"),
     test_deployment.test_the_watcher_and_the_workers_wait_for_the_tables),
    ("large", _independent("AWS::ECS::Service"),
     test_deployment.test_the_watcher_and_the_workers_wait_for_the_tables),
    *(
        ("standard", _without(_ENDPOINT, service), check)
        for service in ("ecr.api", "ecr.dkr", "logs", "lambda", "sns", "secretsmanager", "xray")
        for check in [
            test_network.test_every_service_called_from_inside_has_an_endpoint_and_no_other
        ]
    ),
    ("large", _without(_ENDPOINT, "ecr.dkr"),
     test_tasks.test_tasks_inside_can_fetch_their_image_and_write_their_log),
    ("small", _without(_ENDPOINT, "sqs"),
     test_network.test_every_service_called_from_inside_has_an_endpoint_and_no_other),
    ("small", _set("AWS::Logs::LogGroup", "LogGroupName", "/aws/lambda/submit"),
     test_deployment.test_no_log_stays_behind_to_be_in_the_way),
    ("small", _set(_FUNCTION, "FunctionName", "submit"),
     test_deployment.test_nothing_has_a_name_that_could_be_taken),
    ("standard", _set("AWS::EC2::Subnet", "AvailabilityZone", "us-east-1e"),
     test_network.test_three_zones_are_named),
    ("standard", _set(_DB, "DeletionProtection", False),
     test_deployment.test_what_is_protected_cannot_be_deleted_by_accident),
    ("small", _set(_DB, "EnableIAMDatabaseAuthentication", False),
     test_data.test_the_database_takes_tokens_and_is_encrypted),
    ("small", _set(_DB, "ServerlessV2ScalingConfiguration.MaxCapacity", 512),
     test_data.test_the_database_has_a_range_that_aurora_takes),
    ("small", _set(_DB, "ServerlessV2ScalingConfiguration.SecondsUntilAutoPause", 60),
     test_data.test_only_a_database_that_may_reach_zero_pauses),
    ("standard", _set(_MSK, "KafkaVersion", "3.9.x"), test_data.test_brokers_need_no_zookeeper),
    ("standard", _set("AWS::MSK::Configuration", "KafkaVersionsList", ["3.9.x.kraft"]),
     test_data.test_a_new_version_of_kafka_replaces_no_configuration),
    ("large", _set(_MSK, "NumberOfBrokerNodes", 4),
     test_data.test_brokers_are_three_in_three_zones),
    ("large", _set("AWS::ElastiCache::ReplicationGroup", "TransitEncryptionEnabled", False),
     test_data.test_the_cache_is_valkey_and_encrypted),
    ("small", _set("AWS::ElastiCache::ServerlessCache", "MajorEngineVersion", "7"),
     test_data.test_the_cache_is_valkey_and_encrypted),
    ("standard", _without("AWS::MSK::Topic", "dead-letters"),
     test_data.test_topics_are_the_contracts),
    ("small", _hidden("job-runs-p1", 420),
     test_data.test_a_message_stays_hidden_for_six_times_its_reader),
    ("small", _hidden("job-events", 2_520),
     test_data.test_an_outcome_comes_again_before_its_run_is_begun_again),
    ("standard", _set(_ESM, "ProvisionedPollerConfig", None),
     test_mappings.test_what_only_provisioned_pollers_heed_is_asked_of_no_others),
    ("standard", _set(_ESM, "ScalingConfig", {"MaximumConcurrency": 5}),
     test_mappings.test_provisioned_pollers_and_a_scaling_limit_exclude_each_other),
    ("large", _set(_ESM, "ProvisionedPollerConfig.PollerGroupName", None),
     test_mappings.test_pollers_share_one_group),
    ("standard", _set(_ESM, "MaximumRetryAttempts", -1),
     test_mappings.test_a_poison_record_is_halved_out_and_set_aside),
    ("standard", _set(_ESM, "FunctionResponseTypes", []),
     test_mappings.test_failures_are_told_record_by_record),
    ("standard", _set(_ESM, "AmazonManagedKafkaEventSourceConfig.ConsumerGroupId",
                      "recorder.job-events"),
     test_mappings.test_groups_are_each_mappings_own),
    ("small", _set("AWS::Events::Rule", "ScheduleExpression", "rate(30 seconds)"),
     test_functions.test_two_watchers_overlap),
    ("small", _variable("watcher", "LAMPLIGHTER_WATCH_SECONDS", "50"),
     test_functions.test_two_watchers_overlap),
    ("small", _variable("executor", "LAMPLIGHTER_WEBHOOK_SECRET", "hunter2"),
     test_functions.test_no_secret_is_in_a_variable),
    ("small", _set("AWS::Logs::LogGroup", "RetentionInDays", None),
     test_functions.test_every_log_is_forgotten_in_time),
    ("small", _set("AWS::ApiGatewayV2::Route", "AuthorizationType", "NONE"),
     test_api.test_no_route_is_open),
    ("small", _set("AWS::ApiGatewayV2::Stage", "AccessLogSettings", None),
     test_api.test_requests_are_bounded_and_logged),
    ("small", _set("AWS::KMS::Key", "KeyPolicy.Statement", []),
     test_alarms.test_cloudwatch_may_use_the_key_of_the_encrypted_topic),
    ("small", _set("AWS::SNS::TopicPolicy", "PolicyDocument.Statement", []),
     test_alarms.test_cloudwatch_may_publish_to_a_topic_that_has_a_policy),
    ("standard", _without("AWS::CloudWatch::Alarm", "NoCanary"),
     test_alarms.test_everything_that_was_promised_has_an_alarm),
]  # fmt: skip


@pytest.mark.parametrize(
    ("profile", "change", "check"),
    CASES,
    ids=[f"{number}-{check.__name__}" for number, (_, _, check) in enumerate(CASES)],
)
def test_it_is_noticed(
    profile: str, change: Change, check: Check, templates: dict[str, Template]
) -> None:
    broken = templates[profile].copy()
    change(broken)

    with pytest.raises((AssertionError, KeyError, ValueError)):
        check(broken)


def test_what_is_named_holds_for_the_whole(templates: dict[str, Template]) -> None:
    """Else the cases above would prove nothing."""
    for profile, _, check in CASES:
        check(templates[profile].copy())
