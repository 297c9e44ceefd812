"""Prices: one table, each with its unit, where it stands, when, and how sure that is.

In dollars, us-east-1, on demand, without contracts or taxes. Whoever changes one changes its date.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

REGION: Final = "us-east-1"
HOURS: Final = 730.0
DAYS: Final = HOURS / 24
MINUTES: Final = HOURS * 60


# Where a number was found: in somebody's copy of the price list, or nowhere.
COPY: Final = "copy"
MEMORY: Final = "memory"


@dataclass(frozen=True)
class Price:
    """`free`: so much a month costs nothing, for ever, but once per account.

    What is above `until` of the rest has the price `then`.
    """

    what: str
    unit: str
    dollars: float
    source: str
    date: str = "2026-11"
    basis: str = MEMORY
    free: float = 0.0
    until: float = float("inf")
    then: float = 0.0

    def of(self, quantity: float) -> float:
        """A month's."""
        paid = max(0.0, quantity - self.free)
        return min(paid, self.until) * self.dollars + max(0.0, paid - self.until) * self.then


_MILLION: Final = "million"

PRICES: Final[Mapping[str, Price]] = {
    "acu": Price("Aurora", "ACU-hour", 0.12, "RDS, Aurora Serverless v2, Standard", basis=COPY),
    "acu_io": Price(
        "Aurora, I/O-Optimized", "ACU-hour", 0.156, "RDS, Aurora Serverless v2, I/O-Optimized"
    ),
    "ledger_gb": Price(
        "Aurora's storage", "GB-month", 0.10, "RDS, Aurora storage, Standard", basis=COPY
    ),
    "ledger_gb_io": Price(
        "Aurora's storage, I/O-Optimized", "GB-month", 0.225, "RDS, Aurora storage, I/O-Optimized"
    ),
    "ledger_io": Price("Aurora's reads and writes", f"{_MILLION} I/Os", 0.20, "RDS, Aurora I/O"),
    "valkey_gb": Price(
        "Valkey serverless, data",
        "GB-hour",
        0.084,
        "ElastiCache Serverless for Valkey, data",
        basis=COPY,
    ),
    "valkey_ecpu": Price(
        "Valkey serverless, work",
        f"{_MILLION} ECPU",
        0.0023,
        "ElastiCache Serverless for Valkey",
        basis=COPY,
    ),
    "cache.r7g.xlarge": Price(
        "Valkey, nodes cache.r7g.xlarge",
        "node-hour",
        0.3496,
        "ElastiCache nodes, Valkey",
        basis=COPY,
    ),
    "kafka.m7g.large": Price(
        "MSK, brokers kafka.m7g.large", "broker-hour", 0.204, "MSK, Standard brokers", basis=COPY
    ),
    "express.m7g.large": Price(
        "MSK, brokers express.m7g.large", "broker-hour", 0.408, "MSK, Express brokers", basis=COPY
    ),
    "broker_gb": Price("MSK's storage", "GB-month", 0.10, "MSK, storage, Standard and Express"),
    "express_in": Price("MSK Express, data in", "GB", 0.01, "MSK, Express brokers, data in"),
    "pollers": Price(
        "Lambda's Kafka pollers",
        "unit-hour",
        0.185,
        "Lambda, event poller units, 10 pollers each",
        basis=COPY,
    ),
    "endpoints": Price(
        "interface endpoints", "endpoint-zone-hour", 0.01, "PrivateLink, interface endpoints"
    ),
    "nat": Price("NAT gateways", "gateway-hour", 0.045, "VPC, NAT gateway", basis=COPY),
    "lambda_time": Price(
        "Lambda, time", "GB-second", 0.0000133334, "Lambda, Arm, duration", free=400_000
    ),
    "lambda_calls": Price(
        "Lambda, calls", f"{_MILLION} requests", 0.20, "Lambda, requests", basis=COPY, free=1
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
    "fargate_cpu": Price(
        "Fargate, processors", "vCPU-hour", 0.03238, "Fargate, Linux, Arm", basis=COPY
    ),
    "fargate_gb": Price("Fargate, memory", "GB-hour", 0.00356, "Fargate, Linux, Arm", basis=COPY),
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
