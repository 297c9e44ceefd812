"""Alarms and the dashboard: on metrics that exist, and told to somebody."""

from typing import Any

import pytest

from lamplighter.telemetry.metrics import METRICS
from tests.infra.aws.template import Template, flat, references

pytestmark = pytest.mark.xdist_group("aws")

WANTED = {
    "Lateness", "OldestDue", "QueueDepth", "FailureRate", "Lag", "DependencyLag", "RequestLag",
    "DeadLetters", "LeaderChanges", "NoCanary", "NoWatcher", "SetAside", "Throttles",
    "ServerErrors", "DatabaseFull",
}  # fmt: skip


# Whoever is behind with these keeps statuses, dependents or submissions waiting.
LAGS = {
    "Lag": "job-events",
    "DependencyLag": "dependency-events",
    "RequestLag": "job-requests",
}


def alarms(template: Template) -> dict[str, dict[str, Any]]:
    found = template.of_type("AWS::CloudWatch::Alarm")
    return {
        name.removeprefix("Alarms")[:-8]: each["Properties"]
        for name, each in found.items()
        if name.startswith("Alarms")
    }


def _metrics(alarm: dict[str, Any]) -> list[dict[str, Any]]:
    if "MetricName" in alarm:
        return [alarm]
    return [each["MetricStat"]["Metric"] for each in alarm["Metrics"] if "MetricStat" in each]


def test_everything_that_was_promised_has_an_alarm(template: Template) -> None:
    assert alarms(template).keys() >= WANTED


def test_alarms_and_all_clears_are_told(template: Template) -> None:
    (topic,) = template.of_type("AWS::SNS::Topic")

    for alarm in alarms(template).values():
        assert alarm["AlarmActions"] == alarm["OKActions"] == [{"Ref": topic}]


def test_cloudwatch_may_use_the_key_of_the_encrypted_topic(template: Template) -> None:
    statements = template.one("AWS::KMS::Key")["KeyPolicy"]["Statement"]

    assert {"Service": "cloudwatch.amazonaws.com"} in [each["Principal"] for each in statements]
    assert "StorageKey" in flat(template.one("AWS::SNS::Topic")["KmsMasterKeyId"])


def test_cloudwatch_may_publish_to_a_topic_that_has_a_policy(template: Template) -> None:
    """A policy takes the place of the default one, which let the account's own alarms in."""
    statements = template.one("AWS::SNS::TopicPolicy")["PolicyDocument"]["Statement"]
    allowed = [each for each in statements if each["Effect"] == "Allow"]

    assert [each["Principal"] for each in allowed] == [{"Service": "cloudwatch.amazonaws.com"}]
    assert [each["Action"] for each in allowed] == ["sns:Publish"]


def test_alarms_ask_for_metrics_that_the_functions_tell(template: Template) -> None:
    told = {metric.name: metric for metric in METRICS}

    for alarm in alarms(template).values():
        for metric in _metrics(alarm):
            if metric["Namespace"] == "Lamplighter":
                names = [each["Name"] for each in metric["Dimensions"]]
                assert metric["MetricName"] in told
                assert names == ["Cell"]


def test_a_missing_canary_is_an_alarm_after_two_of_its_periods(template: Template) -> None:
    alarm = alarms(template)["NoCanary"]

    assert (alarm["MetricName"], alarm["Statistic"]) == ("CanaryLatenessMs", "SampleCount")
    assert alarm["TreatMissingData"] == "breaching"
    assert alarm["EvaluationPeriods"] * alarm["Period"] == 2 * template.profile.canary_seconds
    variables = template.variables("migrate")
    assert variables["LAMPLIGHTER_CANARY_SECONDS"] == str(alarm["Period"])


def test_no_canary_within_two_minutes_unless_small(templates: dict[str, Template]) -> None:
    found = {name: alarms(each)["NoCanary"]["Period"] * 2 / 60 for name, each in templates.items()}

    assert found == {"small": 120, "standard": 2, "large": 2}


def test_lag_is_asked_for_as_the_mapping_reads(with_kafka: Template) -> None:
    groups = {
        each["AmazonManagedKafkaEventSourceConfig"]["ConsumerGroupId"]: each["Topics"]
        for each in with_kafka.properties("AWS::Lambda::EventSourceMapping")
    }

    for name, topic in LAGS.items():
        dimensions = {
            each["Name"]: each["Value"] for each in alarms(with_kafka)[name]["Dimensions"]
        }
        assert dimensions["Topic"] == topic
        assert groups[dimensions["Consumer Group"]] == [topic]
        assert dimensions["Cluster Name"] == with_kafka.one("AWS::MSK::Cluster")["ClusterName"]


def test_the_oldest_message_is_asked_for_in_each_queue(with_sqs: Template) -> None:
    for name, topic in LAGS.items():
        (queue,) = references(alarms(with_sqs)[name]["Dimensions"])
        assert with_sqs.resources[queue]["Properties"]["QueueName"] == f"lamplighter-{topic}"


def test_every_function_that_fails_is_noticed(template: Template) -> None:
    for name in template.functions():
        assert f"Errors{name}" in alarms(template)


def test_the_dashboard_shows_every_metric(template: Template) -> None:
    page = flat(template.one("AWS::CloudWatch::Dashboard")["DashboardBody"])

    for metric in METRICS:
        assert f'"{metric.name}"' in page
