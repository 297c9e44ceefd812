"""Every topic: its name, its partitions, what its keys are.

Partitions cap how many executors of a class run at once where Lambda's mapping reads them, and a
key's partition changes with their number: choose once, generously. The runs of a class need no
order on the bus (slots see to that), so the leader sends each to a partition that is idle.
"""

import re
from collections.abc import Iterable
from typing import Final

from lamplighter.domain.errors import InvalidJob
from lamplighter.domain.job import DEFAULT_POOL
from lamplighter.domain.policy import JobClass
from lamplighter.ports.bus import Topic

JOB_EVENTS: Final = Topic("job-events", partitions=20, keyed_by="job_id")
WORKER_EVENTS: Final = Topic("worker-events", partitions=10, keyed_by="worker_id")
DEPENDENCY_EVENTS: Final = Topic("dependency-events", partitions=10, keyed_by="job_id")
# The one topic that holds what is written nowhere else: submissions while Postgres is away.
JOB_REQUESTS: Final = Topic(
    "job-requests", partitions=10, keyed_by="job_id", retention_hours=14 * 24, fsync=True
)
# What could not be read or handled, with its origin in the headers, until `lamplighter redrive`.
DEAD_LETTERS: Final = Topic(
    "dead-letters", partitions=1, keyed_by="key of the message", retention_hours=14 * 24
)

JOB_RUNS_PARTITIONS: Final = 20
# What Kafka allows in a name; the prefix and the class take the rest of its 249 characters.
_POOL: Final = re.compile(r"[A-Za-z0-9_-]{1,100}")


def job_runs(pool: str, job_class: JobClass) -> str:
    """Where a pool's runs of a class wait for a worker: `job-runs.p1`, `job-runs.<pool>.p1`."""
    if not _POOL.fullmatch(pool):
        raise InvalidJob("pool", "use letters, digits, - and _, 100 at most")
    middle = "" if pool == DEFAULT_POOL else f".{pool}"
    return f"job-runs{middle}.{job_class.name.lower()}"


def job_runs_topics(pool: str, partitions: int = JOB_RUNS_PARTITIONS) -> list[Topic]:
    """The four topics of a pool, most urgent class first."""
    names = [job_runs(pool, job_class) for job_class in JobClass]
    return [Topic(name, partitions, keyed_by="run_id") for name in names]


def all_topics(pools: Iterable[str] = (DEFAULT_POOL,)) -> list[Topic]:
    """What `ensure_topics` is given at the start."""
    shared = [JOB_EVENTS, WORKER_EVENTS, DEPENDENCY_EVENTS, JOB_REQUESTS, DEAD_LETTERS]
    return shared + [topic for pool in pools for topic in job_runs_topics(pool)]


def mapping_group(group: str, topic: str) -> str:
    """Two mappings of Lambda's must not share a group: `recorder.job-events`."""
    return f"{group}.{topic}"
