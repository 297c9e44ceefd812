"""As in test_traps_bite.py: alarms that would be silent, tasks that would stay or never come."""

from typing import Any

import pytest

from tests.infra.aws import test_alarm_table, test_alarms, test_functions, test_tasks
from tests.infra.aws.changes import Change, Check, names, noticed, without
from tests.infra.aws.template import Template

pytestmark = pytest.mark.xdist_group("aws")


def _alarm(name: str, **values: Any) -> Change:
    """None takes a property away."""

    def change(template: Template) -> None:
        found = test_alarms.alarms(template)[name]
        found.update(values)
        for key in [key for key, value in values.items() if value is None]:
            del found[key]

    return change


def _always_none(template: Template) -> None:
    metrics = test_alarms.alarms(template)["FailureRate"]["Metrics"]
    next(each for each in metrics if "Expression" in each)["Expression"] = "0"


def _patient(template: Template) -> None:
    for name, each in template.of_type("AWS::CloudWatch::Alarm").items():
        if "BacklogLower" in name:
            del each["Properties"]["TreatMissingData"]


def _kept_for_good(template: Template) -> None:
    for name, each in template.of_type("AWS::Lambda::Function").items():
        if "AutoDelete" in name:
            del each["Properties"]["LoggingConfig"]


def _scales_out(template: Template) -> None:
    scales = test_tasks.test_aws_makes_as_many_tasks_of_a_backlog_as_was_meant
    scales("standard", 200_001, 50, {"standard": template})


_TABLE = test_alarm_table.test_every_alarm_looks_at_what_it_is_named_for

CASES: list[tuple[str, Change, Check]] = [
    ("standard", _alarm("Lateness", ExtendedStatistic=None, Statistic="Minimum"), _TABLE),
    ("standard", _alarm("Lateness", Threshold=10**9), _TABLE),
    ("standard", _alarm("DeadLetters", ComparisonOperator="LessThanThreshold"), _TABLE),
    ("small", _alarm("NoWatcher", TreatMissingData="notBreaching"), _TABLE),
    ("large", _alarm("OldestDue", EvaluationPeriods=60), _TABLE),
    ("small", _alarm("Errorssubmit", Period=86_400), _TABLE),
    ("standard", _alarm("Lag", Threshold=50_000), _TABLE),
    ("standard", without("AWS::CloudWatch::Alarm", "AlarmsBrokerDisk"), _TABLE),
    ("keys", without("AWS::CloudWatch::Alarm", "AlarmsErrorsauthorizer"), _TABLE),
    ("standard", _always_none, _TABLE),
    *(
        (profile, without("AWS::CloudWatch::Alarm", f"Alarms{name}"),
         test_alarms.test_everything_that_was_promised_has_an_alarm)
        for profile in ("small", "standard")
        for name in ("DependencyLag", "RequestLag")
    ),
    ("standard", _alarm("DependencyLag", Dimensions=[]),
     test_alarms.test_lag_is_asked_for_as_the_mapping_reads),
    ("small", _alarm("RequestLag", Dimensions=[]),
     test_alarms.test_the_oldest_message_is_asked_for_in_each_queue),
    ("small", _patient,
     test_tasks.test_tasks_go_to_rest_where_nobody_counts_while_the_database_sleeps),
    ("small", _kept_for_good, test_functions.test_every_log_is_forgotten_in_time),
    ("standard", without("AWS::CloudWatch::Alarm", "BacklogUpper"), _scales_out),
    ("standard", without("AWS::ApplicationAutoScaling::ScalingPolicy", "BacklogUpper"),
     _scales_out),
]  # fmt: skip


@pytest.mark.parametrize(("example", "change", "check"), CASES, ids=names(CASES))
def test_it_is_noticed(
    example: str, change: Change, check: Check, examples: dict[str, Template]
) -> None:
    noticed(change, check, examples[example])
