"""Prices: one table, each with its unit, where it stands, and when somebody looked.

In dollars, us-east-1, on demand, without contracts or taxes. Whoever changes one changes its date.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

REGION: Final = "us-east-1"
HOURS: Final = 730.0
DAYS: Final = HOURS / 24
MINUTES: Final = HOURS * 60


@dataclass(frozen=True)
class Price:
    """`free`: so much a month costs nothing, for ever, but once per account. Then the first price;
    what is above `until` of it has the price `then`.
    """

    what: str
    unit: str
    dollars: float
    source: str
    looked: str = "2026-11"
    free: float = 0.0
    until: float = float("inf")
    then: float = 0.0

    def of(self, quantity: float) -> float:
        """A month's."""
        paid = max(0.0, quantity - self.free)
        return min(paid, self.until) * self.dollars + max(0.0, paid - self.until) * self.then


_MILLION: Final = "million"
# From a list that was copied from the price list, and not from the price list itself.
_COPY: Final = ", by a copy"

PRICES: Final[Mapping[str, Price]] = {
    "acu": Price("Aurora", "ACU-hour", 0.12, "RDS, Aurora Serverless v2, Standard"),
    "acu_io": Price(
        "Aurora, I/O-Optimized", "ACU-hour", 0.156, "RDS, Aurora Serverless v2, I/O-Optimized"
    ),
    "ledger_gb": Price("Aurora's storage", "GB-month", 0.10, "RDS, Aurora storage, Standard"),
    "ledger_gb_io": Price(
        "Aurora's storage, I/O-Optimized", "GB-month", 0.225, "RDS, Aurora storage, I/O-Optimized"
    ),
    "ledger_io": Price("Aurora's reads and writes", f"{_MILLION} I/Os", 0.20, "RDS, Aurora I/O"),
    "valkey_gb": Price(
        "Valkey serverless, data", "GB-hour", 0.084, "ElastiCache Serverless for Valkey, data"
    ),
    "valkey_ecpu": Price(
        "Valkey serverless, work", f"{_MILLION} ECPU", 0.0023, "ElastiCache Serverless for Valkey"
    ),
    "cache.r7g.xlarge": Price(
        "Valkey, nodes cache.r7g.xlarge", "node-hour", 0.3496, f"ElastiCache nodes, Valkey{_COPY}"
    ),
    "kafka.m7g.large": Price(
        "MSK, brokers kafka.m7g.large", "broker-hour", 0.204, f"MSK, Standard brokers{_COPY}"
    ),
    "express.m7g.large": Price(
        "MSK, brokers express.m7g.large", "broker-hour", 0.408, f"MSK, Express brokers{_COPY}"
    ),
    "broker_gb": Price("MSK's storage", "GB-month", 0.10, "MSK, storage, Standard and Express"),
    "express_in": Price("MSK Express, data in", "GB", 0.01, "MSK, Express brokers, data in"),
    "pollers": Price(
        "Lambda's Kafka pollers", "unit-hour", 0.185, "Lambda, event poller units, 10 pollers each"
    ),
    "endpoints": Price(
        "interface endpoints", "endpoint-zone-hour", 0.01, "PrivateLink, interface endpoints"
    ),
    "nat": Price("NAT gateways", "gateway-hour", 0.045, "VPC, NAT gateway"),
    "lambda_time": Price(
        "Lambda, time", "GB-second", 0.0000133334, "Lambda, Arm, duration", free=400_000
    ),
    "lambda_calls": Price(
        "Lambda, calls", f"{_MILLION} requests", 0.20, "Lambda, requests", free=1
    ),
    "http": Price(
        "HTTP API",
        f"{_MILLION} requests",
        1.00,
        "API Gateway, HTTP APIs, per 512 KB",
        until=300,
        then=0.90,
    ),
    "sqs": Price("SQS", f"{_MILLION} requests", 0.40, "SQS, standard queues", free=1),
    "fargate_cpu": Price("Fargate, processors", "vCPU-hour", 0.03238, "Fargate, Linux, Arm"),
    "fargate_gb": Price("Fargate, memory", "GB-hour", 0.00356, "Fargate, Linux, Arm"),
    "logs": Price("CloudWatch logs, taken in", "GB", 0.50, "CloudWatch, logs, standard", free=5),
    "metrics": Price(
        "CloudWatch metrics", "metric-month", 0.30, "CloudWatch, custom metrics", free=10
    ),
    "alarms": Price(
        "CloudWatch alarms", "metric in an alarm", 0.10, "CloudWatch, standard alarms", free=10
    ),
    "dashboards": Price("dashboard", "dashboard-month", 3.00, "CloudWatch, dashboards", free=3),
    "key": Price("KMS key", "key-month", 1.00, "KMS, customer keys"),
    "secret": Price("the owner's password", "secret-month", 0.40, "Secrets Manager"),
    "traces": Price("X-Ray", f"{_MILLION} traces", 5.00, "X-Ray, traces recorded", free=0.1),
    "between_zones": Price(
        "data between zones", "GB and direction", 0.01, "EC2, data transfer in a region"
    ),
    "scheduler": Price(
        "EventBridge Scheduler", f"{_MILLION} invocations", 1.00, "EventBridge, Scheduler", free=14
    ),
}
