"""The functions: what they are told, what they may do, how long they live."""

import re
from typing import Any
from urllib.parse import urlsplit

import pytest

from infra.aws import assets
from infra.aws.environment import UnknownSetting, checked
from infra.aws.logins import login_of
from lamplighter import settings
from tests.infra.aws.template import Template, environments, flat, listed, references

pytestmark = pytest.mark.xdist_group("aws")

# Settings that no template sets, and why.
NOT_ON_AWS = {
    "data_dir": "nothing is embedded there",
    "url": "for the command line",
    "api_key": "for the command line",
    "jwt_tenant_claim": "the deployer's, when it is not `tenant`",
    "jwt_default_tenant": "the deployer's, when tokens need not name one",
    "shares": "the default is the seeds'",
    "default_target": "the default",
    "handler_modules": "the deployer's own, when there are any",
    "allow_private_addresses": "the courier is outside, where there are none",
    "pagerduty_url": "PagerDuty's own",
    "alert_webhook_url": "given as a secret, when asked for",
    "alert_webhook_secret": "given as a secret, when asked for",
    "webhook_secret": "given as a secret, when asked for",
    "pagerduty_routing_key": "given as a secret, when asked for",
    "fail_points": "for tests",
    "statement_timeout_ms": "the default",
    "lock_timeout_ms": "the default",
    "idle_in_transaction_timeout_ms": "the default",
    "partition_days_ahead": "the default",
}
# Calls that know no resource, so that AWS asks for *.
WITHOUT_A_RESOURCE = {
    "ec2:AssignPrivateIpAddresses",
    "ec2:CreateNetworkInterface",
    "ec2:DeleteNetworkInterface",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSecurityGroups",
    "ec2:DescribeSubnets",
    "ec2:DescribeVpcs",
    "ec2:UnassignPrivateIpAddresses",
    "ecr:GetAuthorizationToken",
    "xray:PutTelemetryRecords",
    "xray:PutTraceSegments",
}


def test_every_function_of_the_tree_is_deployed(template: Template) -> None:
    keyless = {name for name in assets.function_names() if name != "authorizer"}

    assert template.functions().keys() == keyless


def test_the_settings_class_takes_every_environment(template: Template) -> None:
    """Addresses are known at the deployment; here each has one of its kind."""
    for variables in environments(template).values():
        resolved = {name: _resolved(name, value) for name, value in variables.items()}
        settings.load(resolved)


def _resolved(name: str, value: Any) -> str:
    if name == "LAMPLIGHTER_KAFKA_BOOTSTRAP_SERVERS":
        assert "BootstrapBrokerStringSaslIam" in flat(value)
        return "b-1.example:9098,b-2.example:9098"
    if name == "LAMPLIGHTER_OWN_SUBNETS":
        return re.sub(r"<\w+Subnet\w+>", "subnet-0a1b2c3d", flat(value))
    return flat(value)


def test_every_setting_is_set_or_has_a_reason_not_to_be(templates: dict[str, Template]) -> None:
    used = {
        variable
        for template in templates.values()
        for variables in environments(template).values()
        for variable in variables
        if variable.startswith(settings.PREFIX)
    }
    wanted = {field.variable for field in settings.fields() if field.name not in NOT_ON_AWS}

    assert used == wanted


def test_a_variable_that_nobody_reads_stops_the_synthesis() -> None:
    with pytest.raises(UnknownSetting, match="databse_url"):
        checked({"databse_url": "postgresql://"})


def test_no_secret_is_in_a_variable(template: Template) -> None:
    secret = {field.variable for field in settings.fields() if field.secret}

    for variables in environments(template).values():
        for name in secret & variables.keys():
            value = flat(variables[name])
            is_address = name.endswith("_URL") and urlsplit(value).password is None
            assert is_address or value.startswith("secret:"), name
            assert "resolve:secretsmanager" not in value


def test_each_bus_has_its_settings(templates: dict[str, Template]) -> None:
    small, standard = (templates[name].variables("watcher") for name in ("small", "standard"))

    assert small["LAMPLIGHTER_BUS"] == "sqs"
    assert small["LAMPLIGHTER_SQS_PREFIX"] == "lamplighter"
    assert small["LAMPLIGHTER_THRIFTY"] == "true"
    assert "LAMPLIGHTER_KAFKA_BOOTSTRAP_SERVERS" not in small
    assert standard["LAMPLIGHTER_BUS"] == "kafka"
    assert standard["LAMPLIGHTER_KAFKA_IAM"] == "true"
    assert "LAMPLIGHTER_THRIFTY" not in standard


def test_runtime_and_layers_are_what_the_wheels_are_for(template: Template) -> None:
    for each in template.functions().values():
        assert (each["Runtime"], each["Architectures"]) == ("python3.13", ["arm64"])
        assert len(each["Layers"]) == 2


def test_time_is_enough_and_not_more_than_aws_gives(template: Template) -> None:
    timeouts = {name: each["Timeout"] for name, each in template.functions().items()}

    assert max(timeouts.values()) <= 900
    # API Gateway gives up after 30 s.
    assert max(timeouts["submit"], timeouts["query"]) < 30
    variables = template.variables("executor")
    assert timeouts["executor"] >= int(variables["LAMPLIGHTER_LONGEST_SECONDS"]) + 60
    assert timeouts["courier"] > int(variables["LAMPLIGHTER_LONGEST_SECONDS"])


def test_two_watchers_overlap(template: Template) -> None:
    watches = int(template.variables("watcher")["LAMPLIGHTER_WATCH_SECONDS"])

    assert 60 < watches < template.functions()["watcher"]["Timeout"] - 5
    assert [each["ScheduleExpression"] for each in template.properties("AWS::Events::Rule")] == [
        "rate(1 minute)"
    ]
    assert not template.of_type("AWS::Scheduler::Schedule")


def test_no_concurrency_is_reserved(template: Template) -> None:
    """A new account has 10 executions at once, and any reservation fails the deployment there."""
    for each in template.properties("AWS::Lambda::Function"):
        assert "ReservedConcurrentExecutions" not in each
    assert not template.of_type("AWS::Lambda::Alias")


def test_every_log_is_forgotten_in_time(template: Template) -> None:
    groups = template.of_type("AWS::Logs::LogGroup")

    for each in groups.values():
        assert each["Properties"]["RetentionInDays"] == template.profile.log_days
    for each in template.properties("AWS::Lambda::Function"):
        assert each["LoggingConfig"]["LogGroup"]["Ref"] in groups


def test_a_star_stands_only_where_aws_knows_no_resource(template: Template) -> None:
    for policy in template.properties("AWS::IAM::Policy"):
        for statement in policy["PolicyDocument"]["Statement"]:
            actions = set(listed(statement["Action"]))
            assert not [action for action in actions if "*" in action]
            if "*" in listed(statement["Resource"]):
                assert actions <= WITHOUT_A_RESOURCE


def test_functions_in_the_network_may_have_interfaces_there(template: Template) -> None:
    for name in template.functions().keys() - {"courier"}:
        assert template.may(template.role_of(name), "ec2:CreateNetworkInterface")


def test_every_function_writes_its_own_log_and_no_other(template: Template) -> None:
    for name, each in template.functions().items():
        own = each["LoggingConfig"]["LogGroup"]["Ref"]
        allowed = template.may(template.role_of(name), "logs:PutLogEvents")
        assert [flat(arn) for arn in allowed] == [f"<{own}.Arn>"]


def test_all_but_the_courier_enter_the_database(template: Template) -> None:
    for name in template.functions():
        arns = [flat(arn) for arn in template.may(template.role_of(name), "rds-db:connect")]
        assert len(arns) == (0 if name == "courier" else 1)
        assert all(arn.endswith(f"/{login_of(name)}") for arn in arns)


def test_runners_reach_courier_alerts_and_logs(template: Template) -> None:
    for name in ("executor", "recorder", "watcher"):
        role = template.role_of(name)
        assert template.may(role, "lambda:InvokeFunction")
        assert template.may(role, "sns:Publish")
        assert template.may(role, "kms:GenerateDataKey")
    assert template.may(template.role_of("executor"), "s3:PutObject")
    assert template.may(template.role_of("query"), "s3:GetObject")
    assert not template.may(template.role_of("submit"), "lambda:InvokeFunction")


def test_whoever_may_alert_is_told_of_whom_and_by_which_way(template: Template) -> None:
    """One who may and knows no topic would be silent; and SNS has no endpoint, but the courier."""
    for name in template.functions():
        variables = template.variables(name)
        may = bool(template.may(template.role_of(name), "sns:Publish"))
        assert ("LAMPLIGHTER_ALERT_SNS_TOPIC" in variables) is may, name
        assert ("LAMPLIGHTER_COURIER_FUNCTION" in variables) is may, name


def test_publishers_may_publish_with_kafka(with_kafka: Template) -> None:
    topics = len(with_kafka.of_type("AWS::MSK::Topic"))

    for name in ("submit", "watcher", "executor", "recorder", "resolver"):
        role = with_kafka.role_of(name)
        assert len(with_kafka.may(role, "kafka-cluster:WriteData")) == topics
        assert with_kafka.may(role, "kafka-cluster:WriteDataIdempotently")
        assert with_kafka.may(role, "kafka-cluster:Connect")


def test_publishers_may_publish_with_sqs(with_sqs: Template) -> None:
    queues = len(with_sqs.of_type("AWS::SQS::Queue"))

    for name in ("submit", "watcher", "executor", "recorder", "resolver"):
        for action in ("sqs:SendMessage", "sqs:GetQueueUrl"):
            assert len(set(map(flat, with_sqs.may(with_sqs.role_of(name), action)))) == queues


READING = ("sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility")


def test_a_function_takes_messages_from_the_queues_of_its_mappings_alone(
    with_sqs: Template,
) -> None:
    own: dict[str, set[str]] = {name: set() for name in with_sqs.functions()}
    for mapping in with_sqs.properties("AWS::Lambda::EventSourceMapping"):
        function = with_sqs.resources[next(references(mapping["FunctionName"]))]
        name = function["Properties"]["Handler"].split(".")[1]
        own[name].add(flat(mapping["EventSourceArn"]))

    for name, queues in own.items():
        for action in READING:
            assert set(map(flat, with_sqs.may(with_sqs.role_of(name), action))) == queues, name


def test_whoever_only_reads_may_count_messages_and_no_more(with_sqs: Template) -> None:
    role = with_sqs.role_of("query")

    assert with_sqs.may(role, "sqs:GetQueueAttributes")
    for action in ("sqs:SendMessage", *READING):
        assert not with_sqs.may(role, action)


def test_migrate_publishes_what_tells_of_the_canary_and_nothing_else(template: Template) -> None:
    action = "kafka-cluster:WriteData" if template.profile.broker else "sqs:SendMessage"

    topics = template.may(template.role_of("migrate"), action)

    assert len(topics) == 2
    assert {"job-events", "job-requests"} == {
        name for name in ("job-events", "job-requests", "job-runs", "dead-letters")
        for topic in topics if name.replace("-", "") in flat(topic).replace("-", "")
    }  # fmt: skip


def test_lambda_traces_calls_where_runs_are_traced_and_nowhere_else(template: Template) -> None:
    traced = template.profile.trace_one_in > 0

    for name, each in template.functions().items():
        assert each.get("TracingConfig") == ({"Mode": "Active"} if traced else None), name
        assert bool(template.may(template.role_of(name), "xray:PutTraceSegments")) is traced
