"""The Lambda functions: code, layers, size, and a role that has nothing but what is granted."""

from collections.abc import Mapping

from aws_cdk import Duration
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.aws import assets
from infra.aws.constructs.calls import log_group
from infra.aws.constructs.layers import ARCHITECTURE, RUNTIME, Layers, function_code
from infra.aws.constructs.network import Network
from infra.aws.environment import COURIER
from infra.aws.options import Options

_NETWORK_INTERFACES = [
    "ec2:CreateNetworkInterface",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSubnets",
    "ec2:DescribeSecurityGroups",
    "ec2:DescribeVpcs",
    "ec2:DeleteNetworkInterface",
    "ec2:AssignPrivateIpAddresses",
    "ec2:UnassignPrivateIpAddresses",
]


class Functions(Construct):
    """No concurrency is reserved: a new account has 10 in all, and any reservation fails there."""

    def __init__(self, scope: Construct, name: str, options: Options, network: Network) -> None:
        super().__init__(scope, name)
        self._options = options
        self._network = network
        self._layers = Layers(self, "Layers", options)
        self.all: dict[str, lambda_.Function] = {}

    def __getitem__(self, function: str) -> lambda_.Function:
        return self.all[function]

    def add(self, function: str, variables: Mapping[str, str]) -> lambda_.Function:
        size = self._options.profile.functions[function]
        inside = function != COURIER
        log = log_group(self, f"{function}-log", self._options.profile)
        made = lambda_.Function(
            self,
            function,
            description=f"{self._options.stack_name}: {function}",
            code=function_code(function),
            handler=assets.entry(function),
            runtime=RUNTIME,
            architecture=ARCHITECTURE,
            layers=self._layers.of(function),
            memory_size=size.memory,
            timeout=Duration.seconds(size.timeout),
            environment=dict(variables),
            role=self._role(function, inside=inside),
            log_group=log,
            tracing=self._tracing(),
            vpc=self._network.vpc if inside else None,
            vpc_subnets=self._network.inside if inside else None,
            security_groups=[self._network.app] if inside else None,
        )
        log.grant_write(made)
        self.all[function] = made
        return made

    def _tracing(self) -> lambda_.Tracing:
        """Lambda's own spans are worth their price beside ours, and alone they are not."""
        traced = self._options.profile.trace_one_in > 0
        return lambda_.Tracing.ACTIVE if traced else lambda_.Tracing.DISABLED

    def _role(self, function: str, *, inside: bool) -> iam.Role:
        """Not AWS's managed ones: they allow logs everywhere."""
        role = iam.Role(
            self,
            f"{function}-role",
            assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
        )
        if inside:
            # Lambda puts the function's network interface there, and these calls know no resource.
            role.add_to_policy(iam.PolicyStatement(actions=_NETWORK_INTERFACES, resources=["*"]))
        return role
