"""One cell on real stores, its functions called as on AWS: by events, with nothing in between."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from functions.executor.handler import handler as executor
from functions.recorder.handler import handler as recorder
from functions.resolver.handler import handler as resolver
from functions.submit.handler import handler as submit
from functions.watcher.handler import handler as watcher
from infra.local.lambdas import Context
from lamplighter import wiring
from lamplighter.contracts.msk import event_of
from lamplighter.contracts.topics import (
    DEPENDENCY_EVENTS,
    JOB_EVENTS,
    job_runs_topics,
)
from lamplighter.domain.run import Run
from lamplighter.ports.ledger_queries import LAST_ID, RunFilter
from lamplighter.stages.capacity import executor_group
from tests.functions.calling import recorded

PATIENCE = timedelta(seconds=30)
TENANT = "default"
STEPS = (
    (executor_group("default"), [topic.name for topic in job_runs_topics("default")], executor),
    ("recorder", [JOB_EVENTS.name], recorder),
    ("resolver", [DEPENDENCY_EVENTS.name], resolver),
)


class Cell:
    def __init__(self) -> None:
        self._consumers = [
            (wiring.bus().consumer(group, topics), handler) for group, topics, handler in STEPS
        ]

    def close(self) -> None:
        for consumer, _ in self._consumers:
            consumer.close()

    def post(self, path: str, body: Any, **headers: str) -> dict[str, Any]:
        event = recorded("submit")
        event |= {"rawPath": path, "body": json.dumps(body)}
        event["headers"] = {"content-type": "application/json", **headers}
        event["requestContext"]["http"] |= {"method": "POST", "path": path}
        answer = submit(event, Context("submit"))
        assert answer["statusCode"] == 201, answer
        told: dict[str, Any] = json.loads(answer["body"])
        return told

    def run_until_done(self, jobs: Sequence[str]) -> list[Run]:
        """Watch, and deliver what comes of it, until each of these jobs has a run that ended."""
        end = datetime.now(UTC) + PATIENCE
        while datetime.now(UTC) < end:
            watcher(recorded("watcher"), Context("watcher"))
            while sum(self._deliver(*each) for each in self._consumers):
                pass
            runs = [run for job in jobs for run in self.runs(job)]
            if len(runs) >= len(jobs) and all(run.state.is_final for run in runs):
                return runs
        raise AssertionError(f"not all of {jobs} came to an end")

    def runs(self, job_id: str) -> list[Run]:
        return wiring.ledger().list_runs(TENANT, RunFilter(UUID(job_id)), LAST_ID, 10).items

    def _deliver(self, consumer: Any, handler: Any) -> bool:
        records = consumer.poll(100, 0.05)
        if records:
            answer = handler(event_of(records), Context("function"))
            assert answer == {"batchItemFailures": []}
            consumer.commit(records)
        return bool(records)
