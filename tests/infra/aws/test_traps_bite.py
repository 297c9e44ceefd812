"""Take one thing away from a template, and a test that is named here must fail."""

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
from tests.infra.aws.changes import (
    Change,
    Check,
    changed,
    forbidden,
    hidden,
    independent,
    names,
    noticed,
    told,
    without,
)
from tests.infra.aws.template import Template

pytestmark = pytest.mark.xdist_group("aws")

_ESM = "AWS::Lambda::EventSourceMapping"
_DB = "AWS::RDS::DBCluster"
_MSK = "AWS::MSK::Cluster"
_SCHEMA = "Custom::LamplighterSchema"
_FUNCTION = "AWS::Lambda::Function"
_ENDPOINT = "AWS::EC2::VPCEndpoint"

# Profile, what is taken away, and the test that notices.
CASES: list[tuple[str, Change, Check]] = [
    ("standard", independent(_ESM), test_mappings.test_a_mapping_waits_for_its_topic),
    ("small", independent(_ESM), test_mappings.test_a_mapping_waits_for_the_tables),
    ("large", independent(_ESM, _FUNCTION),
     test_mappings.test_a_mapping_waits_for_what_its_function_may_do),
    ("standard", without("AWS::EC2::SecurityGroupIngress", "pollers"),
     test_network.test_functions_and_pollers_reach_the_brokers),
    *(
        ("standard", without(kind, holding),
         test_network.test_pollers_reach_the_queue_for_what_they_set_aside)
        for kind, holding in (("AWS::EC2::SecurityGroupIngress", "NetworkEndpointsfrom"),
                              (_ENDPOINT, ".sqs"))
    ),
    *(
        ("large", forbidden(action), test_mappings.test_a_mappings_function_may_look_the_cluster_up)
        for action in ("kafka:DescribeClusterV2", "kafka:GetBootstrapBrokers")
    ),
    *(
        ("large", forbidden(action), test_mappings.test_a_mappings_function_may_read_as_its_group)
        for action in ("kafka-cluster:ReadData", "kafka-cluster:AlterGroup")
    ),
    ("standard", forbidden("sqs:SendMessage"),
     test_mappings.test_a_mappings_function_may_set_aside_without_a_key),
    ("standard", forbidden("ec2:CreateNetworkInterface"),
     test_functions.test_functions_in_the_network_may_have_interfaces_there),
    ("small", without("AWS::IAM::ManagedPolicy"),
     test_targets.test_jobs_call_no_function_of_the_scheduler_whatever_they_may_call),
    ("small", told("executor", "LAMPLIGHTER_OWN_SUBNETS", "<NetworkVpcinsideSubnet1>"),
     test_targets.test_who_takes_and_who_runs_jobs_knows_the_subnets_of_its_own_network),
    ("small", changed(_FUNCTION, "ReservedConcurrentExecutions", 5),
     test_functions.test_no_concurrency_is_reserved),
    ("standard", independent(_SCHEMA),
     test_deployment.test_tables_wait_for_the_writer_and_for_the_login),
    ("standard", independent("Custom::LamplighterLogins", "AWS::IAM::Policy"),
     test_deployment.test_tables_wait_for_the_writer_and_for_the_login),
    ("standard", independent(_SCHEMA),
     test_deployment.test_tables_wait_for_the_deployments_own_topics),
    ("small", changed(_SCHEMA, "digest", "1"),
     test_deployment.test_tables_are_made_again_when_a_migration_is_new),
    ("standard", changed(_SCHEMA, "canarySeconds", None),
     test_deployment.test_the_canary_is_changed_when_its_period_is_another),
    ("small", told("migrate", "LAMPLIGHTER_CANARY_SECONDS", "60"),
     test_deployment.test_the_canary_is_changed_when_its_period_is_another),
    ("small", independent("AWS::Events::Rule"),
     test_deployment.test_the_watcher_and_the_workers_wait_for_the_tables),
    ("large", independent("AWS::ECS::Service"),
     test_deployment.test_the_watcher_and_the_workers_wait_for_the_tables),
    *(
        ("standard", without(_ENDPOINT, service), check)
        for service in ("ecr.api", "ecr.dkr", "logs", "lambda", "secretsmanager", "xray")
        for check in [
            test_network.test_every_service_called_from_inside_has_an_endpoint_and_no_other
        ]
    ),
    ("large", without(_ENDPOINT, "ecr.dkr"),
     test_tasks.test_tasks_inside_can_fetch_their_image_and_write_their_log),
    ("small", without(_ENDPOINT, "sqs"),
     test_network.test_every_service_called_from_inside_has_an_endpoint_and_no_other),
    ("small", changed("AWS::Logs::LogGroup", "LogGroupName", "/aws/lambda/submit"),
     test_deployment.test_no_log_stays_behind_to_be_in_the_way),
    ("small", changed(_FUNCTION, "FunctionName", "submit"),
     test_deployment.test_nothing_has_a_name_that_could_be_taken),
    ("standard", changed("AWS::EC2::Subnet", "AvailabilityZone", "us-east-1e"),
     test_network.test_three_zones_are_named),
    ("standard", changed(_DB, "DeletionProtection", False),
     test_deployment.test_what_is_protected_cannot_be_deleted_by_accident),
    ("small", changed(_DB, "EnableIAMDatabaseAuthentication", False),
     test_data.test_the_database_takes_tokens_and_is_encrypted),
    ("small", changed(_DB, "ServerlessV2ScalingConfiguration.MaxCapacity", 512),
     test_data.test_the_database_has_a_range_that_aurora_takes),
    ("small", changed(_DB, "ServerlessV2ScalingConfiguration.SecondsUntilAutoPause", 60),
     test_data.test_only_a_database_that_may_reach_zero_pauses),
    ("standard", changed(_MSK, "KafkaVersion", "3.9.x"), test_data.test_brokers_need_no_zookeeper),
    ("standard", changed("AWS::MSK::Configuration", "KafkaVersionsList", ["3.9.x.kraft"]),
     test_data.test_a_new_version_of_kafka_replaces_no_configuration),
    ("large", changed(_MSK, "NumberOfBrokerNodes", 4),
     test_data.test_brokers_are_three_in_three_zones),
    ("large", changed("AWS::ElastiCache::ReplicationGroup", "TransitEncryptionEnabled", False),
     test_data.test_the_cache_is_valkey_and_encrypted),
    ("small", changed("AWS::ElastiCache::ServerlessCache", "MajorEngineVersion", "7"),
     test_data.test_the_cache_is_valkey_and_encrypted),
    ("standard", without("AWS::MSK::Topic", "dead-letters"),
     test_data.test_topics_are_the_contracts),
    ("small", hidden("job-runs-p1", 420),
     test_data.test_a_message_stays_hidden_for_six_times_its_reader),
    ("small", hidden("job-events", 2_520),
     test_data.test_an_outcome_comes_again_before_its_run_is_begun_again),
    ("standard", changed(_ESM, "ProvisionedPollerConfig", None),
     test_mappings.test_what_only_provisioned_pollers_heed_is_asked_of_no_others),
    ("standard", changed(_ESM, "ScalingConfig", {"MaximumConcurrency": 5}),
     test_mappings.test_provisioned_pollers_and_a_scaling_limit_exclude_each_other),
    ("large", changed(_ESM, "ProvisionedPollerConfig.PollerGroupName", None),
     test_mappings.test_pollers_share_one_group),
    ("standard", changed(_ESM, "MaximumRetryAttempts", -1),
     test_mappings.test_a_poison_record_is_halved_out_and_set_aside),
    ("standard", changed(_ESM, "FunctionResponseTypes", []),
     test_mappings.test_failures_are_told_record_by_record),
    ("standard", changed(_ESM, "AmazonManagedKafkaEventSourceConfig.ConsumerGroupId",
                      "recorder.job-events"),
     test_mappings.test_groups_are_each_mappings_own),
    ("small", changed("AWS::Events::Rule", "ScheduleExpression", "rate(30 seconds)"),
     test_functions.test_two_watchers_overlap),
    ("small", told("watcher", "LAMPLIGHTER_WATCH_SECONDS", "50"),
     test_functions.test_two_watchers_overlap),
    ("small", told("executor", "LAMPLIGHTER_WEBHOOK_SECRET", "hunter2"),
     test_functions.test_no_secret_is_in_a_variable),
    ("small", changed("AWS::Logs::LogGroup", "RetentionInDays", None),
     test_functions.test_every_log_is_forgotten_in_time),
    ("small", changed("AWS::ApiGatewayV2::Route", "AuthorizationType", "NONE"),
     test_api.test_no_route_is_open),
    ("small", changed("AWS::ApiGatewayV2::Stage", "AccessLogSettings", None),
     test_api.test_requests_are_bounded_and_logged),
    ("large", changed("AWS::ApiGatewayV2::Stage",
                      "DefaultRouteSettings.ThrottlingBurstLimit", 10_000),
     test_api.test_no_more_requests_are_promised_than_an_account_may_have),
    ("small", changed("AWS::KMS::Key", "KeyPolicy.Statement", []),
     test_alarms.test_cloudwatch_may_use_the_key_of_the_encrypted_topic),
    ("small", changed("AWS::SNS::TopicPolicy", "PolicyDocument.Statement", []),
     test_alarms.test_cloudwatch_may_publish_to_a_topic_that_has_a_policy),
    ("standard", without("AWS::CloudWatch::Alarm", "NoCanary"),
     test_alarms.test_everything_that_was_promised_has_an_alarm),
]  # fmt: skip


@pytest.mark.parametrize(("profile", "change", "check"), CASES, ids=names(CASES))
def test_it_is_noticed(
    profile: str, change: Change, check: Check, templates: dict[str, Template]
) -> None:
    noticed(change, check, templates[profile])
