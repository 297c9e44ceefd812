"""Fargate: where its image comes from, and how many there are."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from infra.aws.constructs.tasks import steps
from infra.aws.profiles import PROFILES, Tasks
from tests.infra.aws.conftest import synthesize
from tests.infra.aws.template import Template, flat

pytestmark = pytest.mark.xdist_group("aws")


def _subnets(template: Template) -> str:
    return flat(template.one("AWS::ECS::Service")["NetworkConfiguration"]["AwsvpcConfiguration"])


def test_tasks_inside_can_fetch_their_image_and_write_their_log(with_kafka: Template) -> None:
    """Isolated subnets reach no registry but a private one, through its endpoints and S3's."""
    services = {
        flat(each["ServiceName"]).partition("us-east-1.")[2]
        for each in with_kafka.properties("AWS::EC2::VPCEndpoint")
    }

    assert "'AssignPublicIp': 'DISABLED'" in _subnets(with_kafka)
    assert {"ecr.api", "ecr.dkr", "logs"} <= services


def test_small_tasks_are_in_public_subnets_that_lead_out(with_sqs: Template) -> None:
    assert "'AssignPublicIp': 'ENABLED'" in _subnets(with_sqs)
    assert "public" in _subnets(with_sqs)
    assert with_sqs.of_type("AWS::EC2::InternetGateway")


def test_the_image_is_for_arm_and_private(template: Template) -> None:
    definition = template.one("AWS::ECS::TaskDefinition")
    (container,) = definition["ContainerDefinitions"]

    assert definition["RuntimePlatform"]["CpuArchitecture"] == "ARM64"
    assert "dkr.ecr." in str(container["Image"])


def test_workers_serve_their_pool(template: Template) -> None:
    (container,) = template.one("AWS::ECS::TaskDefinition")["ContainerDefinitions"]
    variables = {each["Name"]: each["Value"] for each in container["Environment"]}

    assert variables["LAMPLIGHTER_POOL"] == "tasks"
    assert variables["AWS_REGION"] == template.options.region
    assert container["StopTimeout"] == 120


def test_workers_may_do_what_executors_do(template: Template) -> None:
    role = template.one("AWS::ECS::TaskDefinition")["TaskRoleArn"]["Fn::GetAtt"][0]

    for action in ("rds-db:connect", "lambda:InvokeFunction", "sns:Publish", "s3:PutObject"):
        assert template.may(role, action), action


def test_a_failed_rollout_goes_back(template: Template) -> None:
    deployment = template.one("AWS::ECS::Service")["DeploymentConfiguration"]

    assert deployment["DeploymentCircuitBreaker"] == {"Enable": True, "Rollback": True}


def test_a_deployment_does_not_undo_the_scaling(template: Template) -> None:
    assert "DesiredCount" not in template.one("AWS::ECS::Service")


def test_a_task_may_keep_itself_from_being_scaled_in_while_it_works(template: Template) -> None:
    role = template.one("AWS::ECS::TaskDefinition")["TaskRoleArn"]["Fn::GetAtt"][0]
    (tasks,) = template.may(role, "ecs:UpdateTaskProtection")
    assert ":task/" in flat(tasks)
    assert "Cluster" in flat(tasks)


def test_tasks_scale_on_what_the_watcher_counts(template: Template) -> None:
    """Kafka's own lag has no metric before a group's first commit, so none to rise from zero by."""
    alarms = [
        each["Properties"]
        for name, each in template.of_type("AWS::CloudWatch::Alarm").items()
        if "Backlog" in name
    ]

    assert alarms
    for alarm in alarms:
        assert (alarm["Namespace"], alarm["MetricName"]) == ("Lamplighter", "Backlog")
        assert {"Name": "Pool", "Value": "tasks"} in alarm["Dimensions"]


def test_tasks_rest_and_rise_as_the_profile_says(templates: dict[str, Template]) -> None:
    found = {
        name: (target["MinCapacity"], target["MaxCapacity"])
        for name, each in templates.items()
        for target in each.properties("AWS::ApplicationAutoScaling::ScalableTarget")
    }

    assert found == {"small": (0, 10), "standard": (10, 100), "large": (10, 100)}


@pytest.mark.parametrize("profile", PROFILES)
def test_policies_have_no_more_steps_than_aws_takes(
    profile: str, templates: dict[str, Template]
) -> None:
    for policy in templates[profile].properties("AWS::ApplicationAutoScaling::ScalingPolicy"):
        assert len(policy["StepScalingPolicyConfiguration"]["StepAdjustments"]) <= 20


@pytest.mark.parametrize(
    ("backlog", "tasks"), [(0, 10), (1, 10), (50_000, 10), (50_001, 20), (451_000, 100)]
)
def test_a_task_for_every_five_thousand(backlog: int, tasks: int) -> None:
    assert _wanted(Tasks(), backlog) == tasks


def test_one_run_wakes_a_service_at_rest() -> None:
    small = PROFILES["small"].tasks

    assert [_wanted(small, backlog) for backlog in (0, 1, 5_000, 5_001)] == [0, 1, 1, 2]


@pytest.mark.parametrize(
    ("profile", "backlog", "tasks"),
    [
        ("small", 0, 0), ("small", 1, 1), ("small", 5_000, 1), ("small", 5_001, 2),
        ("small", 20_000, 4), ("small", 20_001, 5), ("small", 1_000_000, 10),
        ("standard", 1, 10), ("standard", 50_000, 10), ("standard", 50_001, 20),
    ],
)  # fmt: skip
def test_aws_makes_as_many_tasks_of_a_backlog_as_was_meant(
    profile: str, backlog: int, tasks: int, templates: dict[str, Template]
) -> None:
    assert _scaled(templates[profile], backlog) == {tasks}


def _scaled(template: Template, backlog: int) -> set[int]:
    """What the alarms that go off make of it, by the rules of Application Auto Scaling.

    A bound counts as inside the step above it where the metric is over the alarm's threshold, and
    as inside the step below it otherwise.
    """
    found: set[int] = set()
    policies = template.of_type("AWS::ApplicationAutoScaling::ScalingPolicy")
    for alarm in template.properties("AWS::CloudWatch::Alarm"):
        over = backlog - alarm["Threshold"]
        above = alarm["ComparisonOperator"].startswith("Greater")
        for name in {action["Ref"] for action in alarm["AlarmActions"]} & policies.keys():
            if over >= 0 if above else over <= 0:
                scaling = policies[name]["Properties"]["StepScalingPolicyConfiguration"]
                found.update(_adjusted(scaling["StepAdjustments"], over, above=above))
    return found


def _adjusted(steps: list[dict[str, Any]], over: float, *, above: bool) -> Iterator[int]:
    for step in steps:
        lower = step.get("MetricIntervalLowerBound", float("-inf"))
        upper = step.get("MetricIntervalUpperBound", float("inf"))
        if lower <= over < upper if above else lower < over <= upper:
            yield step["ScalingAdjustment"]


def _wanted(size: Tasks, backlog: int) -> int:
    (found,) = (
        tasks
        for lower, upper, tasks in steps(size)
        if lower <= backlog and (upper is None or backlog < upper)
    )
    return found


@pytest.fixture(scope="module")
def chosen(tmp_path_factory: pytest.TempPathFactory) -> Template:
    """Everything that a deployer may choose, at once."""
    context: dict[str, Any] = {
        "profile": "standard",
        "cell": "second",
        "auth": "jwt",
        "issuer": "https://issuer.example/",
        "audience": "lamplighter",
        "nat": "true",
        "domain": "jobs.example.com",
        "certificate": "arn:aws:acm:eu-west-1:123456789012:certificate/1",
        "zones": "eu-west-1a,eu-west-1b,eu-west-1c",
        "image": "123456789012.dkr.ecr.eu-west-1.amazonaws.com/worker:1",
        "targets": "arn:aws:ecs:eu-west-1:123456789012:task-definition/report:1,"
        "arn:aws:ecs:eu-west-1:123456789012:cluster/batch,"
        "arn:aws:iam::123456789012:role/report",
        "webhook_secret": "lamplighter-webhooks",
        "alarm_email": "nobody@example.com",
        "protect": "false",
        "tasks_at_rest": "0",
    }
    folder: Path = tmp_path_factory.mktemp("chosen")
    return synthesize(folder, **context)


def test_an_image_that_is_in_ecr_needs_no_docker(chosen: Template) -> None:
    (container,) = chosen.one("AWS::ECS::TaskDefinition")["ContainerDefinitions"]

    assert "123456789012.dkr.ecr.eu-west-1" in flat(container["Image"])
    role = chosen.one("AWS::ECS::TaskDefinition")["ExecutionRoleArn"]["Fn::GetAtt"][0]
    assert chosen.may(role, "ecr:BatchGetImage") == [
        "arn:aws:ecr:eu-west-1:123456789012:repository/worker"
    ]


def test_nat_takes_the_place_of_endpoints(chosen: Template) -> None:
    kinds = {each["VpcEndpointType"] for each in chosen.properties("AWS::EC2::VPCEndpoint")}

    assert kinds == {"Gateway"}
    assert len(chosen.of_type("AWS::EC2::NatGateway")) == 3


def test_a_domain_is_the_only_way_in(chosen: Template) -> None:
    assert chosen.one("AWS::ApiGatewayV2::DomainName")["DomainName"] == "jobs.example.com"
    assert chosen.one("AWS::ApiGatewayV2::Api")["DisableExecuteApiEndpoint"] is True


def test_any_issuer_of_tokens_will_do(chosen: Template) -> None:
    authorizer = chosen.one("AWS::ApiGatewayV2::Authorizer")

    assert authorizer["AuthorizerType"] == "JWT"
    assert authorizer["JwtConfiguration"]["Issuer"] == "https://issuer.example/"


def test_only_named_targets_may_be_called(chosen: Template) -> None:
    definition, _, _ = chosen.options.targets
    assert chosen.may(chosen.role_of("executor"), "ecs:RunTask") == [definition]


def test_a_task_of_a_target_can_be_started_with_its_role_and_followed(chosen: Template) -> None:
    _, cluster, passed = chosen.options.targets
    role = chosen.role_of("executor")
    (handed_on,) = (s for s in chosen.statements(role) if s["Action"] == "iam:PassRole")
    (listing,) = (s for s in chosen.statements(role) if s["Action"] == "ecs:ListTasks")

    assert handed_on["Resource"] == passed
    assert "ecs-tasks.amazonaws.com" in flat(handed_on["Condition"])
    assert chosen.may(role, "ecs:DescribeTasks") == [
        "arn:aws:ecs:eu-west-1:123456789012:task/batch/*"
    ]
    assert chosen.may(role, "ecs:StopTask") == chosen.may(role, "ecs:DescribeTasks")
    assert listing["Condition"] == {"ArnEquals": {"ecs:cluster": cluster}}


def test_a_secret_is_named_and_not_told(chosen: Template) -> None:
    value = chosen.variables("executor")["LAMPLIGHTER_WEBHOOK_SECRET"]

    assert value == "secret:lamplighter-webhooks"
    arns = chosen.may(chosen.role_of("executor"), "secretsmanager:GetSecretValue")
    assert [arn for arn in arns if flat(arn).endswith(":secret:lamplighter-webhooks-??????")]


def test_a_second_cell_is_a_second_stack(chosen: Template) -> None:
    assert chosen.options.stack_name == "lamplighter-second"
    assert chosen.variables("submit")["LAMPLIGHTER_CELL"] == "second"
    assert chosen.one("AWS::RDS::DBCluster")["DeletionProtection"] is False
