"""CloudWatch's view: the scheduler's own metrics, as `lamplighter.telemetry` tells them."""

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from lamplighter.contracts.topics import mapping_group
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
    """MSK's own count of what a topic's mapping has not read; each topic has one group."""
    return cloudwatch.Metric(
        namespace="AWS/Kafka",
        metric_name="SumOffsetLag",
        statistic="Maximum",
        period=Duration.minutes(1),
        dimensions_map={
            "Cluster Name": cluster,
            "Consumer Group": mapping_group("recorder", topic),
            "Topic": topic,
        },
    )
