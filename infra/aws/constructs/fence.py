"""What jobs must not reach, whatever their deployer's `targets` cover: the scheduler itself."""

from collections.abc import Sequence

from aws_cdk import CfnResource, Stack
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct


class Fence(Construct):
    """To be made last: it is about all functions of the stack, and the CDK makes some of its own.

    With `targets=…:function:*` a job could call the authorizer for a key of any tenant, `migrate`,
    or the function that makes the deployment's calls. A policy of its own: in the executor's, on
    which the executor waits, it could not name the executor. By ARN, since AWS makes the names, and
    a pattern for them would be one for functions of the deployer's as well.

    The courier is left out, and so are the queues of the bus and the topic of alerts: those who run
    jobs need them. There the targets themselves refuse (`adapters/targets/aws/ours.py`), as they do
    for tasks in the scheduler's own network: IAM cannot, for RunTask tells it of no subnet.
    """

    def __init__(
        self,
        scope: Construct,
        name: str,
        *,
        around: Sequence[iam.IRole],
        courier: lambda_.IFunction,
        tasks: ecs.FargateTaskDefinition,
    ) -> None:
        super().__init__(scope, name)
        stack = Stack.of(self)
        allowed = stack.resolve(courier.function_arn)
        arns = [arn for arn in _functions(stack) if stack.resolve(arn) != allowed]
        # Managed, since what is written into a role may not be longer than 10,240 characters.
        iam.ManagedPolicy(
            self,
            "Never",
            description="What runs jobs calls no function of the scheduler but its courier",
            roles=list(around),
            statements=[
                _never("lambda:InvokeFunction", [*arns, *(f"{arn}:*" for arn in arns)]),
                # Else `task-definition/*` and `role/*` would make a task of theirs a worker.
                _never("iam:PassRole", [role.role_arn for role in _roles(tasks)]),
            ],
        )


def _never(action: str, arns: Sequence[str]) -> iam.PolicyStatement:
    return iam.PolicyStatement(effect=iam.Effect.DENY, actions=[action], resources=list(arns))


def _functions(stack: Stack) -> list[str]:
    return [
        each.get_att("Arn").to_string()
        for each in stack.node.find_all()
        if CfnResource.is_cfn_resource(each) and each.cfn_resource_type == "AWS::Lambda::Function"
    ]


def _roles(tasks: ecs.FargateTaskDefinition) -> list[iam.IRole]:
    return [role for role in (tasks.task_role, tasks.execution_role) if role]
