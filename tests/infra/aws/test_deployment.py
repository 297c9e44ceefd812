"""A first deployment into an empty account, and its removal: what must come before what."""

import json
from pathlib import Path

import pytest

from infra.aws.constructs.schema import migrations_digest
from tests.infra.aws.template import Template, flat, references

pytestmark = pytest.mark.xdist_group("aws")

# Names that AWS asks for, or that functions look for. None of these outlives the stack.
NAMED = {
    "AWS::ApiGatewayV2::Api",  # a label: two may have the same
    "AWS::ApiGatewayV2::Authorizer",
    "AWS::ApplicationAutoScaling::ScalingPolicy",  # within its service
    "AWS::EC2::SecurityGroup",
    "AWS::ECS::TaskDefinition",  # a family, with revisions
    "AWS::ElastiCache::ServerlessCache",
    "AWS::IAM::Policy",  # inside a role
    "AWS::MSK::Cluster",
    "AWS::MSK::Configuration",
    "AWS::MSK::Topic",  # inside its cluster
    "AWS::RDS::DBClusterParameterGroup",  # the family is a version
    "AWS::SQS::Queue",  # the bus on SQS is found by its names
}
_NAMES = (
    "FunctionName", "RoleName", "BucketName", "TopicName", "QueueName", "LogGroupName", "TableName",
    "ClusterName", "DBClusterIdentifier", "AlarmName", "DashboardName", "Name", "PolicyName",
    "ServerlessCacheName", "AliasName", "RuleName", "LayerName", "Family",
    "ReplicationGroupId", "GroupName",
)  # fmt: skip


def _schema(template: Template) -> str:
    (found,) = template.of_type("Custom::LamplighterSchema")
    return found


def test_tables_wait_for_the_writer_and_for_the_login(template: Template) -> None:
    """The cluster's address exists before anybody answers at it."""
    before = template.before(_schema(template))

    (writer,) = (name for name in template.of_type("AWS::RDS::DBInstance") if "Writer" in name)
    assert writer in before
    (logins,) = template.of_type("Custom::LamplighterLogins")
    assert logins in before
    assert writer in template.before(logins)


def test_the_login_is_one_for_iam(template: Template) -> None:
    logins = template.one("Custom::LamplighterLogins")
    (cluster,) = template.of_type("AWS::RDS::DBCluster")

    assert "GRANT rds_iam TO lamplighter" in logins["sql"]
    assert flat(logins["resourceArn"]).endswith(f":cluster:<{cluster}>")
    assert template.one("AWS::RDS::DBCluster")["EnableHttpEndpoint"] is True


def test_tables_are_made_again_when_a_migration_is_new(template: Template) -> None:
    properties = template.one("Custom::LamplighterSchema")

    assert properties["digest"] == migrations_digest()


def test_the_canary_is_changed_when_its_period_is_another(template: Template) -> None:
    """The property has CloudFormation call again; the variable is what `migrate` then reads.

    The variable must be the new one by then.
    """
    period = str(template.profile.canary_seconds)

    assert template.one("Custom::LamplighterSchema")["canarySeconds"] == period
    assert template.variables("migrate")["LAMPLIGHTER_CANARY_SECONDS"] == period
    assert template.function("migrate") in template.before(_schema(template))


def test_tables_wait_for_the_deployments_own_topics(with_kafka: Template) -> None:
    assert set(with_kafka.of_type("AWS::MSK::Topic")) <= with_kafka.before(_schema(with_kafka))


def test_the_watcher_and_the_workers_wait_for_the_tables(template: Template) -> None:
    for kind in ("AWS::Events::Rule", "AWS::ECS::Service"):
        (name,) = template.of_type(kind)
        assert _schema(template) in template.before(name)


def test_custom_resources_answer_from_outside_the_network(template: Template) -> None:
    """Inside, nobody could tell CloudFormation of the end: it would wait for an hour, and fail."""
    called = {
        name
        for each in template.resources.values()
        if each["Type"].startswith(("Custom::", "AWS::CloudFormation::CustomResource"))
        for name in references(each["Properties"]["ServiceToken"])
    }

    assert len(called) >= 2
    for name in called:
        assert "VpcConfig" not in template.resources[name]["Properties"]


def test_the_brokers_addresses_are_asked_for(with_kafka: Template) -> None:
    (asked,) = (
        each["Properties"]
        for name, each in with_kafka.of_type("Custom::AWS").items()
        if "Bootstrap" in name
    )

    assert "GetBootstrapBrokers" in flat(asked["Create"])
    caller = next(references(asked["ServiceToken"]))
    role = with_kafka.resources[caller]["Properties"]["Role"]["Fn::GetAtt"][0]
    assert with_kafka.may(role, "kafka:GetBootstrapBrokers")


def test_nothing_has_a_name_that_could_be_taken(template: Template) -> None:
    for name, each in template.resources.items():
        fixed = [key for key in _NAMES if isinstance(each.get("Properties", {}).get(key), str)]
        assert not fixed or each["Type"] in NAMED, (name, fixed)


def test_no_log_stays_behind_to_be_in_the_way(template: Template) -> None:
    for each in template.of_type("AWS::Logs::LogGroup").values():
        assert each["DeletionPolicy"] == "Delete"
        assert "LogGroupName" not in each["Properties"]


def test_nothing_refers_to_what_is_not_there(example: Template) -> None:
    known = example.resources.keys() | example.body.get("Parameters", {}).keys()

    for name, each in example.resources.items():
        missing = {to for to in references(each.get("Properties", {})) if "::" not in to} - known
        assert not missing, name


def test_traffic_that_was_refused_is_written_down(example: Template) -> None:
    flows = example.one("AWS::EC2::FlowLog")
    (network,), (bucket,) = (example.of_type(f"AWS::{kind}") for kind in ("EC2::VPC", "S3::Bucket"))

    assert (flows["ResourceType"], flows["TrafficType"]) == ("VPC", "REJECT")
    assert flows["ResourceId"] == {"Ref": network}
    assert flat(flows["LogDestination"]).startswith(f"<{bucket}.Arn>")


def test_a_bucket_that_goes_with_the_stack_is_emptied_first(example: Template) -> None:
    """Else deleting the stack fails over it."""
    (bucket,) = example.of_type("AWS::S3::Bucket")
    emptied = [each["BucketName"] for each in example.properties("Custom::S3AutoDeleteObjects")]

    assert emptied == ([] if example.profile.protected else [{"Ref": bucket}])


def test_nothing_is_exported(template: Template) -> None:
    """An export cannot change while somebody imports it: there is one stack."""
    for output in template.body["Outputs"].values():
        assert "Export" not in output
    assert "Fn::ImportValue" not in json.dumps(template.body)


def test_one_stack_is_large_enough(template: Template) -> None:
    assert len(template.resources) < 300


def test_what_is_protected_cannot_be_deleted_by_accident(template: Template) -> None:
    protected = template.profile.protected
    (bucket,) = template.of_type("AWS::S3::Bucket").values()

    assert template.one("AWS::RDS::DBCluster")["DeletionProtection"] is protected
    assert bucket["DeletionPolicy"] == ("Retain" if protected else "Delete")


def test_profiles_are_protected_unless_small(templates: dict[str, Template]) -> None:
    found = {name: each.profile.protected for name, each in templates.items()}

    assert found == {"small": False, "standard": True, "large": True}


def test_synthesis_asks_no_account(
    synthesized: dict[str, Path], templates: dict[str, Template]
) -> None:
    for name in templates:
        manifest = json.loads((synthesized[name] / "manifest.json").read_text(encoding="utf-8"))
        assert not manifest.get("missing")
        (stack,) = (each for each in manifest["artifacts"].values() if "environment" in each)
        assert stack["environment"] == "aws://unknown-account/us-east-1"


def test_logs_of_runs_leave_with_the_runs(template: Template) -> None:
    (rule,) = template.one("AWS::S3::Bucket")["LifecycleConfiguration"]["Rules"]

    assert rule["ExpirationInDays"] == template.profile.ledger_days
    assert rule["AbortIncompleteMultipartUpload"] == {"DaysAfterInitiation": 1}


def test_cognito_is_left_to_those_who_have_it(template: Template) -> None:
    """Any issuer will do (auth=jwt); a pool of our own would need a domain for machines."""
    assert not [each for each in template.resources.values() if "Cognito" in each["Type"]]
