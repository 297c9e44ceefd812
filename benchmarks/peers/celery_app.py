"""Celery on the Redis protocol: acknowledged late, results kept, an ETA for each job."""

import os
import time
from collections.abc import Sequence
from datetime import UTC, datetime

from celery import Celery

from benchmarks.peers.protocol import DAY, Program, main, mark, threads


class CeleryProgram(Program):
    def __init__(self) -> None:
        super().__init__()
        self._app = Celery("bench", broker=self.url, backend=self.url)
        self._app.conf.update(
            task_acks_late=True,  # at least once, as the others
            worker_prefetch_multiplier=1_000,
            worker_send_task_events=False,
            worker_hijack_root_logger=False,
            broker_connection_retry_on_startup=True,
            # What has an ETA stays unacknowledged until then: tomorrow's must not come back today.
            broker_transport_options={"visibility_timeout": 2 * DAY},
            result_expires=DAY,
        )
        self._task = self._app.task(mark, name="note")

    def prepare(self) -> None:
        """It needs nothing."""

    def enqueue(self, times: Sequence[float]) -> None:
        with self._app.producer_pool.acquire(block=True) as producer:
            for due in times:
                self._send(due, producer)

    def submit(self, seconds: float, size: int) -> float:
        """It has no batches. Several threads were no quicker than one, in one process."""
        due = time.time() + DAY
        with self._app.producer_pool.acquire(block=True) as producer:
            return threads(lambda: self._send(due, producer), seconds, at_once=1) * size

    def work(self) -> None:
        # With jobs that do nothing, threads beat child processes, and solo is slow with ETAs.
        options = ["--pool=threads", "--concurrency=10", "--loglevel=ERROR"]
        without = ["--without-gossip", "--without-mingle", "--without-heartbeat"]
        name = f"--hostname=worker{os.getpid()}@%h"
        self._app.worker_main(["worker", *options, *without, name])

    def _send(self, due: float, producer: object) -> None:
        eta = datetime.fromtimestamp(due, UTC) if due > time.time() else None
        self._task.apply_async((due,), eta=eta, producer=producer)


if __name__ == "__main__":
    main(CeleryProgram())
