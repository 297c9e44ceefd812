"""What is not a price and not a size: how much of each thing a run takes. Measured, or guessed.

Change a number here when a real account has a better one; docs/cost.md shows all of them.
"""

from dataclasses import dataclass, fields
from typing import Final


@dataclass(frozen=True)
class Assumed:
    runs_per_acu: float = 500.0
    awake_acu: float = 0.5
    ios_per_run: float = 4.0
    bytes_kept_per_run: float = 1_200.0
    bytes_kept_per_recurring_run: float = 570.0
    horizon_seconds: float = 300.0
    valkey_bytes_per_run: float = 133.0
    ecpu_per_run: float = 15.0
    ecpu_per_second_awake: float = 5.0
    messages_per_run: float = 3.0
    message_bytes: float = 400.0
    runs_per_second_and_cell: float = 10_000.0
    submit_seconds: float = 0.020
    bulk_jobs: float = 1_000.0
    bulk_seconds: float = 0.150
    execute_seconds: float = 0.030
    execute_seconds_per_run: float = 0.0005
    record_seconds: float = 0.030
    record_seconds_per_event: float = 0.0001
    asleep_seconds: float = 0.1
    traced_calls: float = 0.05
    log_bytes_per_call: float = 700.0
    log_bytes_per_request: float = 750.0
    log_bytes_per_run: float = 10.0
    broker_log_gb: float = 1.0
    bytes_between_zones_per_run: float = 4_000.0
    sqs_receives_per_queue_and_minute: float = 15.0


# Where each comes from; the page prints it, a test asks for every one.
WHY: Final[dict[str, str]] = {
    "runs_per_acu": "runs a second that one ACU carries. A guess: the ledger took 60 µs of a core"
    " for a run in batches of 1,000 (docs/performance.md), an ACU is about a quarter of a core, and"
    " an eighth of 4,000 leaves room for smaller batches, Aurora's storage and peaks",
    "awake_acu": "the least that a database has while it is awake",
    "ios_per_run": "writes of a single run; larger batches need fewer",
    "bytes_kept_per_run": "a one-off job and its run, with indexes: 800 measured in PostgreSQL 18"
    " with next to no payload, the rest for payload and the job's version",
    "bytes_kept_per_recurring_run": "its run alone, measured",
    "horizon_seconds": "what is due within so long is in Valkey",
    "valkey_bytes_per_run": "measured, docs/performance.md",
    "ecpu_per_run": "a guess: added, popped, its status cached",
    "ecpu_per_second_awake": "the leader's ticks",
    "messages_per_run": "one to its worker, two about it",
    "message_bytes": "with Kafka's own",
    "runs_per_second_and_cell": "the design's limit; above it, a second cell is counted",
    "submit_seconds": "a call with one job",
    "bulk_jobs": "jobs in one POST /jobs/batch",
    "bulk_seconds": "a call with so many; measured 0.04 to 0.05 on a whole core",
    "execute_seconds": "a call of the executor, without what the jobs do",
    "execute_seconds_per_run": "and each run in it",
    "record_seconds": "a call of the recorder",
    "record_seconds_per_event": "and each event in it",
    "asleep_seconds": "a watcher that finds that nothing is due",
    "traced_calls": "X-Ray's own sample of calls, beside the traces of runs, where there are any",
    "log_bytes_per_call": "Lambda's own lines, and ours",
    "log_bytes_per_request": "the access log, and ours",
    "log_bytes_per_run": "metrics; measured, docs/observability.md",
    "broker_log_gb": "a month, of each broker",
    "bytes_between_zones_per_run": "to brokers, database and cache, both ways",
    "sqs_receives_per_queue_and_minute": "Lambda's five pollers, 20 s each, while a queue is empty",
}


def names() -> list[str]:
    return [each.name for each in fields(Assumed)]


ASSUMED: Final = Assumed()
