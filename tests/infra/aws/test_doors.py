"""Behind which door everything stands, and in which subnets: the rules between doors are worth
nothing to what is in no group, or in another one."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.infra.aws.template import Template, flat, references, short

pytestmark = pytest.mark.xdist_group("aws")

# Type -> the way to its groups, and the one group that it is in.
DOORS: Final = {
    "AWS::RDS::DBCluster": ("VpcSecurityGroupIds", "Database"),
    "AWS::ElastiCache::ServerlessCache": ("SecurityGroupIds", "Cache"),
    "AWS::ElastiCache::ReplicationGroup": ("SecurityGroupIds", "Cache"),
    "AWS::MSK::Cluster": ("BrokerNodeGroupInfo.SecurityGroups", "Broker"),
    "AWS::EC2::VPCEndpoint": ("SecurityGroupIds", "Endpoints"),
    "AWS::Lambda::Function": ("VpcConfig.SecurityGroupIds", "App"),
    "AWS::ECS::Service": ("NetworkConfiguration.AwsvpcConfiguration.SecurityGroups", "App"),
}
# Type -> the way to its subnets.
PLACES: Final = {
    "AWS::RDS::DBSubnetGroup": "SubnetIds",
    "AWS::ElastiCache::ServerlessCache": "SubnetIds",
    "AWS::ElastiCache::SubnetGroup": "SubnetIds",
    "AWS::MSK::Cluster": "BrokerNodeGroupInfo.ClientSubnets",
    "AWS::Lambda::Function": "VpcConfig.SubnetIds",
    "AWS::ECS::Service": "NetworkConfiguration.AwsvpcConfiguration.Subnets",
}


def _at(properties: dict[str, Any], way: str) -> Any:
    found: Any = properties
    for step in way.split("."):
        found = found[step]
    return found


def _inside(template: Template) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """What has a network interface: all but gateways, the courier, and the CDK's functions."""
    ours = {template.function(name) for name in template.functions()}
    outside = {template.function("courier")}
    for name, each in template.resources.items():
        kind, properties = each["Type"], each.get("Properties", {})
        if kind == "AWS::Lambda::Function" and name not in ours - outside:
            continue
        if kind == "AWS::EC2::VPCEndpoint" and properties["VpcEndpointType"] == "Gateway":
            continue
        yield name, kind, properties


def test_everything_stands_behind_its_own_door(example: Template) -> None:
    groups = example.of_type("AWS::EC2::SecurityGroup")

    for name, kind, properties in _inside(example):
        if kind in DOORS:
            way, door = DOORS[kind]
            found = [each["Fn::GetAtt"][0] for each in _at(properties, way)]
            assert [short(each).removeprefix("Network") for each in found] == [door], name
            assert set(found) <= groups.keys()


def test_everything_is_in_the_three_subnets_inside(example: Template) -> None:
    """But tasks of `small`, which are in public ones."""
    public = example.profile.tasks.public

    for name, kind, properties in _inside(example):
        if kind in PLACES:
            found = set(references(_at(properties, PLACES[kind])))
            where = "public" if kind == "AWS::ECS::Service" and public else "inside"
            assert found == _subnets(example, where), name


def _subnets(template: Template, where: str) -> set[str]:
    found = {name for name in template.of_type("AWS::EC2::Subnet") if f"Vpc{where}" in name}
    assert len(found) == 3
    return found


def test_the_stores_are_in_the_subnets_that_were_grouped_for_them(example: Template) -> None:
    (of_database,) = example.of_type("AWS::RDS::DBSubnetGroup")
    assert example.one("AWS::RDS::DBCluster")["DBSubnetGroupName"] == {"Ref": of_database}

    for cache in example.properties("AWS::ElastiCache::ReplicationGroup"):
        (of_cache,) = example.of_type("AWS::ElastiCache::SubnetGroup")
        assert cache["CacheSubnetGroupName"] == {"Ref": of_cache}


def test_no_instance_of_the_database_has_a_public_address(example: Template) -> None:
    for each in example.properties("AWS::RDS::DBInstance"):
        assert each["PubliclyAccessible"] is False


def test_all_of_it_is_one_network(example: Template) -> None:
    (network,) = example.of_type("AWS::EC2::VPC")

    for kind in ("SecurityGroup", "Subnet", "RouteTable", "VPCEndpoint", "VPCGatewayAttachment"):
        for each in example.properties(f"AWS::EC2::{kind}"):
            assert flat(each["VpcId"]) == f"<{network}>", kind
