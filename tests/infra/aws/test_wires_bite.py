"""As in test_traps_bite.py: what holds the parts together, taken away one at a time."""

from typing import Any

import pytest

from tests.infra.aws import (
    test_api,
    test_chosen,
    test_clock,
    test_deployment,
    test_doors,
    test_mappings,
    test_network,
    test_sizes,
    test_tasks,
)
from tests.infra.aws.changes import Change, Check, changed, independent, names, noticed, without
from tests.infra.aws.template import Template

pytestmark = pytest.mark.xdist_group("aws")

_VPC_OF_TASKS = "NetworkConfiguration.AwsvpcConfiguration"


def _in_group(kind: str, way: str, group: str) -> Change:
    """The first of a type, in another group than its own."""

    def change(template: Template) -> None:
        (found,) = (
            name
            for name in template.of_type("AWS::EC2::SecurityGroup")
            if f"Network{group}" in name
        )
        changed(kind, way, [{"Fn::GetAtt": [found, "GroupId"]}])(template)

    return change


def _open_endpoint(template: Template) -> None:
    """The last of them; without groups it would have the network's default one."""
    doors = template.properties("AWS::EC2::VPCEndpoint")
    del next(each for each in reversed(doors) if "SecurityGroupIds" in each)["SecurityGroupIds"]


def _of_function(name: str, key: str, value: Any) -> Change:
    def change(template: Template) -> None:
        template.functions()[name]["VpcConfig"][key] = value

    return change


def _added(kind: str, table: str) -> Change:
    """A way out, from the first route table with this in its name."""

    def change(template: Template) -> None:
        found = next(name for name in template.of_type("AWS::EC2::RouteTable") if table in name)
        properties = {"RouteTableId": {"Ref": found}, "DestinationCidrBlock": "0.0.0.0/0"}
        template.resources["Added"] = {"Type": kind, "Properties": properties}

    return change


_BEHIND = test_doors.test_everything_stands_behind_its_own_door
_WITHIN = test_doors.test_everything_is_in_the_three_subnets_inside

DOORS: list[tuple[str, Change, Check]] = [
    *(
        ("large" if kind.endswith("ReplicationGroup") else "standard", spoilt, _BEHIND)
        for kind, (way, door) in test_doors.DOORS.items()
        if kind not in {"AWS::EC2::VPCEndpoint", "AWS::Lambda::Function"}
        for spoilt in (
            changed(kind, way, None),
            changed(kind, way, []),
            _in_group(kind, way, "Database" if door == "App" else "App"),
        )
    ),
    *(
        (example, _of_function(name, "SecurityGroupIds", []), _BEHIND)
        for example, name in (("standard", "executor"), ("keys", "authorizer"), ("chosen", "query"))
    ),
    *((profile, _open_endpoint, _BEHIND) for profile in ("small", "standard", "large")),
    ("large", _of_function("migrate", "SubnetIds", []), _WITHIN),
    ("small", changed("AWS::ECS::Service", f"{_VPC_OF_TASKS}.Subnets", []), _WITHIN),
    ("standard", changed("AWS::MSK::Cluster", "BrokerNodeGroupInfo.ClientSubnets", []), _WITHIN),
    ("large", changed("AWS::ElastiCache::SubnetGroup", "SubnetIds", []), _WITHIN),
    ("small", changed("AWS::RDS::DBSubnetGroup", "SubnetIds", []), _WITHIN),
    ("small", without("AWS::EC2::SecurityGroup", "interface endpoints"), _BEHIND),
    ("large", changed("AWS::RDS::DBCluster", "DBSubnetGroupName", None),
     test_doors.test_the_stores_are_in_the_subnets_that_were_grouped_for_them),
    ("small", changed("AWS::RDS::DBInstance", "PubliclyAccessible", True),
     test_doors.test_no_instance_of_the_database_has_a_public_address),
    ("small", changed("AWS::EC2::SecurityGroup", "VpcId", None),
     test_doors.test_all_of_it_is_one_network),
]  # fmt: skip

WAYS: list[tuple[str, Change, Check]] = [
    ("small", _added("AWS::EC2::Route", "inside"),
     test_network.test_subnets_inside_have_no_way_out),
    ("standard", without("AWS::EC2::SubnetRouteTableAssociation", "inside"),
     test_network.test_subnets_inside_have_no_way_out),
    ("standard", without("AWS::EC2::RouteTable", "inside"),
     test_network.test_subnets_inside_have_no_way_out),
    *(
        ("small", without(f"AWS::EC2::{kind}", "public" if "Route" in kind else ""),
         test_tasks.test_small_tasks_are_in_public_subnets_that_lead_out)
        for kind in (
            "Route", "SubnetRouteTableAssociation", "VPCGatewayAttachment", "InternetGateway",
        )
    ),
    ("small", independent("AWS::EC2::Route"),
     test_tasks.test_a_route_waits_for_its_gateway_to_be_attached),
    *(
        ("standard", changed("AWS::EC2::VPC", f"EnableDns{what}", False),
         test_network.test_names_are_resolved_inside)
        for what in ("Support", "Hostnames")
    ),
]  # fmt: skip

CLOCK: list[tuple[str, Change, Check]] = [
    ("standard", changed("AWS::Events::Rule", "Targets", []),
     test_clock.test_the_rule_is_on_and_calls_the_watcher_alone),
    ("small", changed("AWS::Events::Rule", "State", "DISABLED"),
     test_clock.test_the_rule_is_on_and_calls_the_watcher_alone),
    ("small", without("AWS::Lambda::EventInvokeConfig"),
     test_clock.test_a_minute_that_was_missed_is_not_called_again),
    *(
        (example, without("AWS::Lambda::Permission", whose),
         test_clock.test_whoever_calls_a_function_may_and_nobody_else)
        for example, whose in (
            ("standard", "events.amazonaws.com"), ("keys", "authorizers"), ("chosen", "submit"),
        )
    ),
]  # fmt: skip

_MSK = "AWS::MSK::Cluster"
_DB = "AWS::RDS::DBCluster"
_NODES = "AWS::ElastiCache::ReplicationGroup"
_ESM = "AWS::Lambda::EventSourceMapping"
_ROUTE = "AWS::ApiGatewayV2::Route"
_AUTHORIZER = "AWS::ApiGatewayV2::Authorizer"

STORES: list[tuple[str, Change, Check]] = [
    ("large", changed(_NODES, "CacheNodeType", "cache.nonsense"),
     test_sizes.test_brokers_and_nodes_are_of_types_that_there_are),
    *(
        (profile, changed(_MSK, "BrokerNodeGroupInfo.InstanceType", f"{kind}.nonsense"),
         test_sizes.test_brokers_and_nodes_are_of_types_that_there_are)
        for profile, kind in (("standard", "kafka"), ("large", "express"))
    ),
    ("small", changed("AWS::RDS::DBInstance", "DBInstanceClass", "db.r6g.large"),
     test_sizes.test_the_database_is_serverless_with_a_writer_and_the_profiles_readers),
    ("large", without("AWS::RDS::DBInstance", "Reader"),
     test_sizes.test_the_database_is_serverless_with_a_writer_and_the_profiles_readers),
    ("small", changed(_DB, "EngineVersion", "16.2"),
     test_sizes.test_a_database_that_sleeps_is_of_a_version_that_can),
    ("small", changed(_DB, "EngineVersion", "12.22"),
     test_sizes.test_a_database_that_sleeps_is_of_a_version_that_can),
    ("small", changed(_DB, "EngineVersion", "17.99"),
     test_sizes.test_the_databases_version_is_one_that_aurora_has),
    ("standard", changed(_DB, "DBClusterParameterGroupName", None),
     test_sizes.test_the_database_takes_no_connection_without_tls),
    ("standard", changed("AWS::MSK::Configuration", "ServerProperties",
                         "auto.create.topics.enable=true"),
     test_sizes.test_a_misspelt_topic_does_not_become_one),
    ("standard", changed(_MSK, "ConfigurationInfo", None),
     test_sizes.test_a_misspelt_topic_does_not_become_one),
    ("small", without("AWS::RDS::DBInstance", "Writer"),
     test_deployment.test_tables_wait_for_the_writer_and_for_the_login),
    *(
        ("standard", without(kind, holding),
         test_deployment.test_nothing_refers_to_what_is_not_there)
        for kind, holding in (
            ("AWS::Lambda::LayerVersion", "Core"), ("AWS::Logs::LogGroup", "BrokerLog"),
            ("AWS::SecretsManager::Secret", ""),
        )
    ),
    ("large", without("AWS::EC2::FlowLog"),
     test_deployment.test_traffic_that_was_refused_is_written_down),
    ("small", without("Custom::S3AutoDeleteObjects"),
     test_deployment.test_a_bucket_that_goes_with_the_stack_is_emptied_first),
    *(
        (profile, changed(_ESM, "Enabled", False),
         test_mappings.test_a_mapping_is_on_and_reads_the_deployments_own_bus)
        for profile in ("small", "standard")
    ),
    ("standard", changed(_ESM, "BatchSize", 1),
     test_mappings.test_a_mapping_reads_in_batches_of_the_profiles_size),
]  # fmt: skip

GATES: list[tuple[str, Change, Check]] = [
    *(
        (example, spoilt, test_api.test_no_route_is_open)
        for example in ("chosen", "keys")
        for spoilt in (
            changed(_ROUTE, "AuthorizationType", "NONE"), changed(_ROUTE, "AuthorizerId", None),
        )
    ),
    ("chosen", changed(_AUTHORIZER, "JwtConfiguration.Audience", []),
     test_chosen.test_any_issuer_of_tokens_will_do),
    ("chosen", changed(_AUTHORIZER, "JwtConfiguration.Issuer", "https://other.example/"),
     test_chosen.test_any_issuer_of_tokens_will_do),
]  # fmt: skip

CASES = DOORS + WAYS + CLOCK + STORES + GATES


@pytest.mark.parametrize(("example", "change", "check"), CASES, ids=names(CASES))
def test_it_is_noticed(
    example: str, change: Change, check: Check, examples: dict[str, Template]
) -> None:
    noticed(change, check, examples[example])
