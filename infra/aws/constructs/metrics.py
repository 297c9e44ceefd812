"""CloudWatch's view: the scheduler's own metrics, as `lamplighter.telemetry` tells them."""

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from infra.aws.constructs.readers import READERS
from infra.local.mapping import mapped
from lamplighter.contracts.topics import mapping_group
from lamplighter.domain.job import DEFAULT_POOL
from lamplighter.telemetry.metrics import CELL, NAMESPACE, Metric


class Metrics:
    """Of one cell. Every metric exists for the cell alone; other dimensions come all together."""

    def __init__(self, cell: str) -> None:
        self._cell = cell

    def of(
        self, metric: Metric, statistic: str, *, seconds: int = 60, **dimensions: str
    ) -> cloudwatch.Metric:
        if dimensions and dimensions.keys() != set(metric.by):
            raise ValueError(f"{metric.name} is told by {metric.by}, not by {list(dimensions)}")
        return cloudwatch.Metric(
            namespace=NAMESPACE,
            metric_name=metric.name,
            statistic=statistic,
            period=Duration.seconds(seconds),
            dimensions_map={CELL: self._cell, **dimensions},
        )


def lag(cluster: str, topic: str) -> cloudwatch.Metric:
    """MSK's own count of the messages that a topic's mapping has not read; each has one group."""
    return cloudwatch.Metric(
        namespace="AWS/Kafka",
        metric_name="SumOffsetLag",
        statistic="Maximum",
        period=Duration.minutes(1),
        dimensions_map={
            "Cluster Name": cluster,
            "Consumer Group": _group(topic),
            "Topic": topic,
        },
    )


def _group(topic: str) -> str:
    (group,) = (
        each.group
        for each in (mapped(function, DEFAULT_POOL) for function in READERS)
        if topic in each.topics
    )
    return mapping_group(group, topic)
