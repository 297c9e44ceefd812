"""Every alarm, line by line: what it looks at, how, and from where on it is one."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import pytest

from infra.aws.profiles import Alarms, Profile
from tests.infra.aws.template import Template
from tests.infra.aws.test_alarms import alarms

pytestmark = pytest.mark.xdist_group("aws")

ABOVE, BELOW = "GreaterThanThreshold", "LessThanThreshold"
QUIET, LOUD = "notBreaching", "breaching"


class Line(NamedTuple):
    """Threshold from the profile's limits; `seconds` of a period, so many `periods` in a row."""

    metric: str
    statistic: str
    limit: Callable[[Alarms], float]
    seconds: int
    periods: int
    comparison: str = ABOVE
    missing: str = QUIET

    def under(self, limits: Alarms) -> tuple[Any, ...]:
        return (*self[:2], self.limit(limits), *self[3:])


_AGE: Final = "AWS/SQS ApproximateAgeOfOldestMessage"
_LAG: Final = "AWS/Kafka SumOffsetLag"
_FAILED: Final = "IF(runs >= 20, 100 * failures / runs, 0)"

USUAL: Final = {
    "Lateness": Line("Lamplighter StartLateness", "p99", lambda of: of.lateness_ms, 60, 3),
    "OldestDue": Line(
        "Lamplighter OldestDueSeconds", "Maximum", lambda of: of.oldest_due_seconds, 60, 3
    ),
    "QueueDepth": Line("Lamplighter QueueDepth", "Maximum", lambda of: of.queue_depth, 60, 3),
    "DeadLetters": Line("Lamplighter DeadLetters", "Sum", lambda _: 0, 60, 1),
    "LeaderChanges": Line("Lamplighter LeaderChanges", "Sum", lambda of: of.leader_changes, 300, 1),
    "FailureRate": Line(_FAILED, "Sum", lambda of: of.failure_percent, 300, 3),
    "NoWatcher": Line("AWS/Lambda Invocations", "Sum", lambda _: 1, 60, 3, BELOW, LOUD),
    "ServerErrors": Line("AWS/ApiGateway 5xx", "Sum", lambda of: of.server_errors, 300, 3),
    "DatabaseFull": Line("AWS/RDS ACUUtilization", "Average", lambda of: of.acu_percent, 300, 3),
    "SetAside": Line(
        "AWS/SQS ApproximateNumberOfMessagesVisible", "Maximum", lambda _: 0, 60, 1
    ),
}  # fmt: skip
OF_SQS: Final = {
    name: Line(_AGE, "Maximum", lambda of: of.message_age_seconds, 60, 3)
    for name in ("Lag", "DependencyLag", "RequestLag")
}
OF_KAFKA: Final = {
    "Lag": Line(_LAG, "Maximum", lambda of: of.lag, 60, 3),
    "DependencyLag": Line(_LAG, "Maximum", lambda of: of.dependency_lag, 60, 3),
    "RequestLag": Line(_LAG, "Maximum", lambda _: 0, 60, 10),
}
DISK: Final = Line("MAX([b1, b2, b3])", "Maximum", lambda of: of.disk_percent, 300, 3)


def _wanted(template: Template) -> dict[str, Line]:
    names = template.functions()
    # In the order in which they were made, which is the sum's.
    throttled = " + ".join(f"t_{name}" for name in names)
    return (
        USUAL
        | _of_bus(template.profile)
        | {
            f"Errors{name}": Line("AWS/Lambda Errors", "Sum", lambda of: of.function_errors, 300, 1)
            for name in names
        }
        | {"Throttles": Line(throttled, "Sum", lambda _: 0, 300, 3)}
        | {"NoCanary": _canary(template.profile)}
    )


def _of_bus(profile: Profile) -> dict[str, Line]:
    if profile.broker is None:
        return OF_SQS
    return OF_KAFKA | ({} if profile.broker.express else {"BrokerDisk": DISK})


def _canary(profile: Profile) -> Line:
    name = "Lamplighter CanaryLatenessMs"
    return Line(name, "SampleCount", lambda _: 1, profile.canary_seconds, 2, BELOW, LOUD)


def test_every_alarm_looks_at_what_it_is_named_for(example: Template) -> None:
    found = {name: _line(each) for name, each in alarms(example).items()}
    limits = example.profile.alarms

    assert found == {name: line.under(limits) for name, line in _wanted(example).items()}


def _line(alarm: dict[str, Any]) -> tuple[Any, ...]:
    looks, statistic, seconds = _metric(alarm)
    return (
        looks, statistic, alarm["Threshold"], seconds, alarm["EvaluationPeriods"],
        alarm["ComparisonOperator"], alarm["TreatMissingData"],
    )  # fmt: skip


def _metric(alarm: dict[str, Any]) -> tuple[str, str, int]:
    """Of an expression: itself, and what all that it reckons with have in common."""
    if "MetricName" in alarm:
        statistic = alarm.get("Statistic") or alarm["ExtendedStatistic"]
        return f"{alarm['Namespace']} {alarm['MetricName']}", statistic, alarm["Period"]
    (expression,) = (each["Expression"] for each in alarm["Metrics"] if "Expression" in each)
    parts = [each["MetricStat"] for each in alarm["Metrics"] if "MetricStat" in each]
    ((statistic, seconds),) = {(each["Stat"], each["Period"]) for each in parts}
    return expression, statistic, seconds
