"""Fargate: where its image comes from, and how many there are."""

from collections.abc import Iterator
from typing import Any

import pytest

from infra.aws.constructs.tasks import steps
from infra.aws.profiles import PROFILES, Tasks
from tests.infra.aws.template import Template, flat, references

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
    service = with_sqs.one("AWS::ECS::Service")["NetworkConfiguration"]["AwsvpcConfiguration"]
    (gateway,) = with_sqs.of_type("AWS::EC2::InternetGateway")
    attached = with_sqs.one("AWS::EC2::VPCGatewayAttachment")
    assert attached["InternetGatewayId"] == {"Ref": gateway}

    subnets = list(references(service["Subnets"]))
    assert len(subnets) == 3
    for name in subnets:
        (route,) = with_sqs.routes_of(name)
        assert route["DestinationCidrBlock"] == "0.0.0.0/0"
        assert route["GatewayId"] == {"Ref": gateway}


def test_a_route_waits_for_its_gateway_to_be_attached(with_sqs: Template) -> None:
    (attachment,) = with_sqs.of_type("AWS::EC2::VPCGatewayAttachment")

    for name in with_sqs.of_type("AWS::EC2::Route"):
        assert attachment in with_sqs.before(name)


def test_the_image_is_for_arm_and_private(template: Template) -> None:
    definition = template.one("AWS::ECS::TaskDefinition")
    (container,) = definition["ContainerDefinitions"]

    assert definition["RuntimePlatform"]["CpuArchitecture"] == "ARM64"
    assert "dkr.ecr." in str(container["Image"])


def test_workers_serve_their_pool(template: Template) -> None:
    (container,) = template.one("AWS::ECS::TaskDefinition")["ContainerDefinitions"]
    variables = {each["Name"]: each["Value"] for each in container["Environment"]}

    assert variables["LAMPLIGHTER_POOL"] == "tasks"
    # The second is what boto3 reads, in whatever a deployer brings.
    assert variables["AWS_REGION"] == template.options.region
    assert variables["AWS_DEFAULT_REGION"] == template.options.region
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


def test_tasks_go_to_rest_where_nobody_counts_while_the_database_sleeps(template: Template) -> None:
    """A thrifty watcher tells of no backlog then: silence must be taken for none."""
    (lower,) = (
        each["Properties"]
        for name, each in template.of_type("AWS::CloudWatch::Alarm").items()
        if "BacklogLower" in name
    )

    thrifty = template.profile.thrifty
    assert lower.get("TreatMissingData", "missing") == ("breaching" if thrifty else "missing")


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
        ("standard", 200_000, 40), ("standard", 200_001, 50), ("standard", 450_000, 90),
        ("standard", 450_001, 100), ("standard", 451_000, 100), ("large", 200_001, 50),
        ("large", 10_000_000, 100),
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
