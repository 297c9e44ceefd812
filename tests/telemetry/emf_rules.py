"""The rules of CloudWatch's embedded metric format, as its specification has them.

https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
"""

import json
from typing import Any

UNITS = {"Seconds", "Microseconds", "Milliseconds", "Bytes", "Percent", "Count", "None"}
LARGEST_BYTES = 256 * 1024  # of an event, by the stricter of the limits that were ever published


def checked(line: str) -> dict[str, Any]:
    """The document of a line that breaks none of the rules."""
    assert "\n" not in line
    assert len(line.encode()) < LARGEST_BYTES
    document: dict[str, Any] = json.loads(line)
    aws = document["_aws"]
    assert set(aws) == {"Timestamp", "CloudWatchMetrics"}
    assert isinstance(aws["Timestamp"], int)
    assert 1e12 < aws["Timestamp"] < 1e13, "milliseconds since 1970"
    assert aws["CloudWatchMetrics"], "at least one directive"
    for directive in aws["CloudWatchMetrics"]:
        _check_directive(directive, document)
    return document


def _check_directive(directive: dict[str, Any], document: dict[str, Any]) -> None:
    assert set(directive) == {"Namespace", "Dimensions", "Metrics"}
    assert 1 <= len(directive["Namespace"]) <= 256
    assert not directive["Namespace"].startswith("AWS/")
    assert directive["Dimensions"], "at least one set of dimensions"
    for dimension_set in directive["Dimensions"]:
        assert len(dimension_set) <= 30
        for dimension in dimension_set:
            assert 1 <= len(dimension) <= 250
            assert isinstance(document[dimension], str), "dimensions are strings of the root"
            assert 1 <= len(document[dimension]) <= 1024
    assert 1 <= len(directive["Metrics"]) <= 100
    for metric in directive["Metrics"]:
        assert set(metric) <= {"Name", "Unit", "StorageResolution"}
        assert metric["Unit"] in UNITS
        _check_value(document[metric["Name"]])


def _check_value(value: Any) -> None:
    values = value if isinstance(value, list) else [value]
    assert 1 <= len(values) <= 100
    for each in values:
        assert isinstance(each, int | float)
        assert not isinstance(each, bool)
        assert abs(each) < 2**360
