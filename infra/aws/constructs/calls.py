"""A call of AWS's API as part of the deployment, made from outside the network."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from aws_cdk import RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import custom_resources as cr
from constructs import Construct

from infra.aws.profiles import Profile

# The CDK's one function for all such calls.
CALLER: Final = "AWS679f53fac002430cb0da5b7982bd2287"


def call(
    scope: Construct,
    name: str,
    profile: Profile,
    *,
    action: tuple[str, str],
    parameters: Mapping[str, Any],
    identity: str,
    may: Sequence[iam.PolicyStatement],
) -> cr.AwsCustomResource:
    """Once at the creation, and again whenever a parameter changes; nothing at the deletion.

    In the network it could neither reach the API nor tell CloudFormation that it has ended.
    """
    service, operation = action
    made = cr.AwsSdkCall(
        service=service,
        action=operation,
        parameters=dict(parameters),
        physical_resource_id=cr.PhysicalResourceId.of(identity),
    )
    return cr.AwsCustomResource(
        scope,
        name,
        on_create=made,
        on_update=made,
        policy=cr.AwsCustomResourcePolicy.from_statements(list(may)),
        # Lambda has one; fetching the newest would need the internet, and be another one each time.
        install_latest_aws_sdk=False,
        log_group=log_group(Stack.of(scope), "CallsLog", profile),
    )


def log_group(scope: Construct, name: str, profile: Profile) -> logs.LogGroup:
    """One per scope and name. Nameless to AWS, so that a later deployment finds none in its way."""
    found = scope.node.try_find_child(name)
    return found or logs.LogGroup(
        scope, name, retention=_days(profile.log_days), removal_policy=RemovalPolicy.DESTROY
    )


def _days(days: int) -> logs.RetentionDays:
    return {14: logs.RetentionDays.TWO_WEEKS, 30: logs.RetentionDays.ONE_MONTH}[days]
