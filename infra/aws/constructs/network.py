"""A network that nothing leaves: no NAT, but an endpoint for each service called from inside."""

from collections.abc import Mapping
from typing import Final

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_s3 as s3
from constructs import Construct

from infra.aws.options import Options

# Which service, and who calls it from inside. An endpoint costs by the hour and zone, so none is
# here without a caller; Lambda's own logs, tokens for Aurora and MSK (signed locally), what
# provisioned pollers call, and what the courier carries (webhooks, all that is for SNS) need none.
_ALWAYS: Final = {
    "lambda": "who runs or records hands webhooks, alerts and what is for SNS to the courier",
    "sqs": "the bus of the smallest; for MSK's pollers, where they set aside what fails",
}
_FOR_TRACES: Final = {"xray": "every function and task sends the traces of runs"}
_FOR_SECRETS: Final = {"secretsmanager": "secrets that targets and signatures name"}
_FOR_TASKS: Final = {
    "ecr.api": "Fargate asks for its image",
    "ecr.dkr": "Fargate fetches its image; the layers come through the S3 gateway",
    "logs": "Fargate's log driver",
}
# By the service in a target's ARN.
_FOR_TARGETS: Final = {
    "events": {"events": "targets of type eventbridge"},
    "states": {"states": "targets of type stepfunctions"},
    "ecs": {"ecs": "targets of type ecs: RunTask"},
}


def endpoints(options: Options) -> Mapping[str, str]:
    """Interface endpoints of a deployment without NAT, each with its reason."""
    profile = options.profile
    found = dict(_ALWAYS)
    found |= _FOR_TRACES if profile.trace_one_in else {}
    found |= _FOR_SECRETS if profile.network.secrets else {}
    found |= {} if profile.tasks.public else _FOR_TASKS
    for service in {arn.split(":")[2] for arn in options.targets}:
        found |= _FOR_TARGETS.get(service, {})
    return found


class Network(Construct):
    """`inside` is for functions, tasks and data; `public` exists for NAT and for public tasks."""

    def __init__(self, scope: Construct, name: str, options: Options, logs: s3.Bucket) -> None:
        super().__init__(scope, name)
        self._options = options
        self.vpc = ec2.Vpc(
            self,
            "Vpc",
            ip_addresses=ec2.IpAddresses.cidr(options.profile.network.cidr),
            # By name: without an account the CDK would count two zones and say nothing.
            availability_zones=list(options.zones),
            nat_gateways=len(options.zones) if options.nat else 0,
            subnet_configuration=self._subnets(),
            gateway_endpoints={
                "S3": ec2.GatewayVpcEndpointOptions(service=ec2.GatewayVpcEndpointAwsService.S3)
            },
            flow_logs={
                "Flows": ec2.FlowLogOptions(
                    destination=ec2.FlowLogDestination.to_s3(logs, "flows"),
                    traffic_type=ec2.FlowLogTrafficType.REJECT,
                )
            },
        )
        self.inside = ec2.SubnetSelection(subnet_group_name="inside")
        self.public = ec2.SubnetSelection(subnet_group_name="public")
        self.app = self.group("App", "functions and tasks")
        self._endpoints = None if options.nat else self._add_endpoints()

    def let_to_endpoints(self, who: ec2.ISecurityGroup, what: str) -> None:
        """Where there are any: with NAT the way is another."""
        if self._endpoints:
            self._endpoints.add_ingress_rule(who, ec2.Port.tcp(443), what)

    def group(self, name: str, what: str, *, outbound: bool = True) -> ec2.SecurityGroup:
        """Nothing may come in until somebody is named. Out goes only where a route leads."""
        return ec2.SecurityGroup(
            self, name, vpc=self.vpc, description=what, allow_all_outbound=outbound
        )

    def subnet_ids(self) -> list[str]:
        """All that there are; the CDK keeps a list for each kind."""
        kinds = (self.vpc.public_subnets, self.vpc.private_subnets, self.vpc.isolated_subnets)
        return [subnet.subnet_id for kind in kinds for subnet in kind]

    def _subnets(self) -> list[ec2.SubnetConfiguration]:
        kind = ec2.SubnetType.PRIVATE_WITH_EGRESS
        if not self._options.nat:
            kind = ec2.SubnetType.PRIVATE_ISOLATED
        found = [ec2.SubnetConfiguration(name="inside", subnet_type=kind, cidr_mask=20)]
        if self._options.nat or self._options.profile.tasks.public:
            found.append(
                ec2.SubnetConfiguration(
                    name="public",
                    subnet_type=ec2.SubnetType.PUBLIC,
                    cidr_mask=24,
                    map_public_ip_on_launch=False,
                )
            )
        return found

    def _add_endpoints(self) -> ec2.SecurityGroup:
        """Behind one door, which is returned."""
        door = self.group("Endpoints", "interface endpoints", outbound=False)
        door.add_ingress_rule(self.app, ec2.Port.tcp(443), "functions and tasks")
        zones = list(self._options.zones[: self._options.profile.network.endpoint_zones])
        for service in endpoints(self._options):
            self.vpc.add_interface_endpoint(
                service.replace(".", "-"),
                service=ec2.InterfaceVpcEndpointAwsService(service),
                subnets=ec2.SubnetSelection(subnet_group_name="inside", availability_zones=zones),
                security_groups=[door],
                open=False,
            )
        return door
