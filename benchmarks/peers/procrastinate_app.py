"""procrastinate on psycopg 3: an asynchronous worker, jobs and their events kept."""

import asyncio
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from procrastinate import App, PsycopgConnector

from benchmarks.peers.protocol import CONNECTIONS, DAY, Program, batches, crowd, main, mark

CONCURRENCY = 20
POLL_SECONDS = 0.05  # what is due later makes no notification of its own


async def note(due: float) -> None:
    mark(due)


class Procrastinate(Program):
    def __init__(self) -> None:
        super().__init__()
        connector = PsycopgConnector(conninfo=self.url, min_size=1, max_size=CONNECTIONS)
        self._app = App(connector=connector)
        self._task = self._app.task(note, name="note")

    def prepare(self) -> None:
        with self._app.open():
            self._app.schema_manager.apply_schema()

    def enqueue(self, times: Sequence[float]) -> None:
        async def all_of_them() -> None:
            async with self._app.open_async():
                for part in batches(times):
                    await self._batch(part)

        asyncio.run(all_of_them())

    def submit(self, seconds: float, size: int) -> float:
        due = time.time() + DAY

        async def measured() -> float:
            async with self._app.open_async():
                if size == 1:
                    return await crowd(lambda: self._at(due).defer_async(due=due), seconds)
                return await crowd(lambda: self._batch([due] * size), seconds, size)

        return asyncio.run(measured())

    def work(self) -> None:
        async def run() -> None:
            async with self._app.open_async():
                await self._app.run_worker_async(
                    concurrency=CONCURRENCY, fetch_job_polling_interval=POLL_SECONDS
                )

        asyncio.run(run())

    def _at(self, due: float) -> Any:
        return self._task.configure(schedule_at=datetime.fromtimestamp(due, UTC))

    async def _batch(self, times: Sequence[float]) -> None:
        jobs = [self._at(due).make_new_job(due=due) for due in times]
        await self._app.job_manager.batch_defer_jobs_async(jobs=jobs)


if __name__ == "__main__":
    main(Procrastinate())
