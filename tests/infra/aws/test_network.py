"""Nothing leaves the network, and what is called from inside has a door."""

from typing import Any

import pytest

from tests.infra.aws.template import Template, flat, references, short

pytestmark = pytest.mark.xdist_group("aws")

# Who calls what from inside, by profile: endpoints are exactly these.
ENDPOINTS = {
    "small": {"lambda", "sqs"},
    "standard": {"lambda", "sqs", "secretsmanager", "xray", "ecr.api", "ecr.dkr", "logs"},
    "large": {"lambda", "sqs", "secretsmanager", "xray", "ecr.api", "ecr.dkr", "logs"},
}


def _interfaces(template: Template) -> dict[str, dict[str, Any]]:
    found = template.properties("AWS::EC2::VPCEndpoint")
    return {
        flat(each["ServiceName"]).partition("us-east-1.")[2]: each
        for each in found
        if each["VpcEndpointType"] == "Interface"
    }


def _inside(template: Template) -> dict[str, dict[str, Any]]:
    return {
        name: each["Properties"]
        for name, each in template.of_type("AWS::EC2::Subnet").items()
        if "inside" in name
    }


def test_three_zones_are_named(template: Template) -> None:
    zones = [each["AvailabilityZone"] for each in _inside(template).values()]

    assert sorted(zones) == ["us-east-1a", "us-east-1b", "us-east-1c"]


def test_there_is_no_nat(template: Template) -> None:
    assert not template.of_type("AWS::EC2::NatGateway")


def test_subnets_inside_have_no_way_out(template: Template) -> None:
    for name in _inside(template):
        assert template.routes_of(name) == []


def test_names_are_resolved_inside(example: Template) -> None:
    """Else no endpoint's name leads to it: they are the services' own."""
    network = example.one("AWS::EC2::VPC")

    assert network["EnableDnsSupport"] is True
    assert network["EnableDnsHostnames"] is True


def test_every_service_called_from_inside_has_an_endpoint_and_no_other(template: Template) -> None:
    assert set(_interfaces(template)) == ENDPOINTS[template.profile.name]


def test_endpoints_are_in_the_zones_that_the_profile_pays_for(template: Template) -> None:
    for endpoint in _interfaces(template).values():
        assert len(endpoint["SubnetIds"]) == template.profile.network.endpoint_zones
        assert endpoint["PrivateDnsEnabled"] is True


def test_s3_has_a_gateway_in_every_route_table_inside(template: Template) -> None:
    (gateway,) = (
        each
        for each in template.properties("AWS::EC2::VPCEndpoint")
        if each["VpcEndpointType"] == "Gateway"
    )

    assert ".s3" in flat(gateway["ServiceName"])
    assert {template.table_of(name) for name in _inside(template)} <= set(
        references(gateway["RouteTableIds"])
    )


def test_endpoints_let_functions_and_tasks_in(template: Template) -> None:
    assert (443, "App", "Endpoints") in _ways_in(template)


def test_functions_reach_database_and_cache(template: Template) -> None:
    assert {(5432, "App", "Database"), (6379, "App", "Cache")} <= _ways_in(template)


def test_functions_and_pollers_reach_the_brokers(with_kafka: Template) -> None:
    """A mapping polls from the cluster's own security group, not from the function's."""
    wanted = {(9098, "App", "Broker"), (9098, "Broker", "Broker"), (443, "Broker", "Broker")}

    assert wanted <= _ways_in(with_kafka)


def test_pollers_reach_the_queue_for_what_they_set_aside(with_kafka: Template) -> None:
    """AWS: "You must deploy a VPC endpoint for your on-failure destination service"."""
    assert "sqs" in _interfaces(with_kafka)
    assert (443, "Broker", "Endpoints") in _ways_in(with_kafka)


def test_nothing_comes_in_from_elsewhere(template: Template) -> None:
    for group in template.properties("AWS::EC2::SecurityGroup"):
        assert "SecurityGroupIngress" not in group
    for rule in template.properties("AWS::EC2::SecurityGroupIngress"):
        assert "CidrIp" not in rule
        assert "CidrIpv6" not in rule


def test_only_the_courier_is_outside(template: Template) -> None:
    outside = {name for name, each in template.functions().items() if "VpcConfig" not in each}

    assert outside == {"courier"}


def _ways_in(template: Template) -> set[tuple[int, str, str]]:
    """Port, from whom, to whom."""
    return {
        (rule["FromPort"], _group(rule["SourceSecurityGroupId"]), _group(rule["GroupId"]))
        for rule in template.properties("AWS::EC2::SecurityGroupIngress")
    }


def _group(reference: Any) -> str:
    name: str = reference["Fn::GetAtt"][0]
    return short(name).removeprefix("Network")
