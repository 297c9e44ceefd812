"""What cdk-nag finds and we keep as it is, each with the reason. Nothing else may be found."""

from typing import Final

from aws_cdk import Acknowledgment, Stack, Validations
from constructs import IConstruct

from infra.aws.constructs.calls import CALLER
from infra.aws.options import Options
from infra.aws.targets import allowed

_WILDCARD: Final = "IAM5[Resource::{}]"
_LAMBDA_ROLE: Final = (
    "IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole]"
)
_INTERFACES: Final = (
    "EC2's calls for network interfaces and X-Ray's for segments know no resource: AWS asks for *"
)
_OF_THE_CDK: Final = "a role of the CDK's own function, which runs during deployments only"

_LOGINS: Final = "Database/Logins"
# Path below the stack -> rule -> reason.
_REASONS: Final[dict[str, dict[str, str]]] = {
    "Storage/Logs": {
        "S1": "it holds logs itself; who read them is CloudTrail's to say, where that is wanted"
    },
    "Database/Cluster/Secret": {
        "SMG4": "the owner's password makes the functions' login, and nobody else uses it: they "
        "come with IAM tokens"
    },
    "Database/Cluster": {
        "RDS10": "the profile or `-c protect=false` says that this deployment may be deleted"
    },
    "Cache/Nodes": {
        "AEC6": "its security group lets in nobody but our functions and tasks, over TLS"
    },
    "Tasks/Cluster": {
        "ECS4": "the service scales on the backlog that the watcher counts, and its errors are in "
        "the log; Insights would cost more than tasks at rest"
    },
    "Tasks/Definition": {"ECS2": "no secret is among them: a test says so of every variable"},
    "Tasks/Definition/ExecutionRole": {
        _WILDCARD.format("*"): "ecr:GetAuthorizationToken knows no resource: AWS asks for *"
    },
    "Mappings/SetAside": {"SQS3": "it is where failed batches end: there is nothing behind it"},
    f"{CALLER}/ServiceRole": {_LAMBDA_ROLE: _OF_THE_CDK},
    "Schema/Provider/framework-onEvent": {_LAMBDA_ROLE: _OF_THE_CDK, "L1": "the CDK's own choice"},
    f"{_LOGINS}/Provider/framework-onEvent": {
        _LAMBDA_ROLE: _OF_THE_CDK,
        "L1": "the CDK's own choice",
    },
    f"{_LOGINS}/Maker": {"L1": "that of all our functions"},
}


def accept(stack: Stack, options: Options) -> None:
    """Tell the rules' reasons to the constructs that exist in this profile."""
    for path, reasons in _REASONS.items():
        _accept(_find(stack, path), reasons)
    functions = stack.node.find_child("Functions")
    logs = stack.resolve(stack.node.find_child("Storage").logs.bucket_arn)["Fn::GetAtt"][0]
    for function in functions.all.values():
        _accept(function, {"L1": "the layer's wheels are for Python 3.13, and tested with it"})
        _accept(function.role, _of_role(logs, options))
    _accept(_find(stack, "Tasks/Definition/TaskRole"), _of_role(logs, options))
    _accept(_find(stack, "Tasks/Definition/TaskRole"), _of_tasks(stack, options))
    for role in (functions["executor"].role, _find(stack, "Tasks/Definition/TaskRole")):
        _accept(role, _of_targets(options))
    _accept_call(stack, "Schema", functions["migrate"])
    if maker := _find(stack, f"{_LOGINS}/Maker"):
        _accept_call(stack, _LOGINS, maker)


def _accept_call(stack: Stack, path: str, called: IConstruct) -> None:
    """Of a provider's own function, that it may call the one which does the work."""
    name = stack.get_logical_id(called.node.default_child)
    own = {_WILDCARD.format(f"<{name}.Arn>:*"): "any version of the one function that it calls"}
    _accept(_find(stack, f"{path}/Provider/framework-onEvent"), own)


def _of_role(logs: str, options: Options) -> dict[str, str]:
    secrets = "arn:<AWS::Partition>:secretsmanager:{}:<AWS::AccountId>:secret:{}/*"
    return {
        _WILDCARD.format("*"): _INTERFACES,
        _WILDCARD.format(f"<{logs}.Arn>/logs/*"): "a run's log is named by the run",
        _WILDCARD.format(
            secrets.format(options.region, options.stack_name)
        ): "a tenant's secrets are named by tenants",
    }


def _of_targets(options: Options) -> dict[str, str]:
    """Patterns that follow from what the deployer named; a pattern of their own is theirs."""
    return {
        _WILDCARD.format(arn): "what belongs to a target that the deployer named: its versions, "
        "its executions, the tasks of its cluster"
        for each in allowed(options.targets)
        for arn in each.arns
        if "*" in arn
    }


def _of_tasks(stack: Stack, options: Options) -> dict[str, str]:
    made = stack.node.find_child("Tasks").node.find_child("Cluster").node.default_child
    cluster = stack.get_logical_id(made)
    tasks = f"arn:<AWS::Partition>:ecs:{options.region}:<AWS::AccountId>:task/<{cluster}>/*"
    return {_WILDCARD.format(tasks): "a task learns its own name when it starts"}


def _find(stack: Stack, path: str) -> IConstruct | None:
    found: IConstruct | None = stack
    for name in path.split("/"):
        found = found.node.try_find_child(name) if found else None
    return found


def _accept(construct: IConstruct | None, reasons: dict[str, str]) -> None:
    if construct is not None:
        Validations.of(construct).acknowledge(
            *(
                Acknowledgment(id=f"AwsSolutions::AwsSolutions-{rule}", reason=reason)
                for rule, reason in reasons.items()
            )
        )
