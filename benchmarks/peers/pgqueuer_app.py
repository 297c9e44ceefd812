"""PgQueuer on asyncpg and uvloop, with large batches. What has ended moves to its log table."""

import time
from collections.abc import Sequence
from datetime import timedelta

import asyncpg
import uvloop
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgPoolDriver
from pgqueuer.models import Job
from pgqueuer.queries import Queries

from benchmarks.peers.protocol import CONNECTIONS, DAY, Program, batches, crowd, main, mark

BATCH = 1_000
POLL = timedelta(milliseconds=50)  # what is due later makes no notification of its own


async def note(job: Job) -> None:
    mark(float(job.payload or b""))


class Pgqueuer(Program):
    def prepare(self) -> None:
        async def install() -> None:
            async with self._pool() as pool:
                await Queries(AsyncpgPoolDriver(pool)).install()

        uvloop.run(install())

    def enqueue(self, times: Sequence[float]) -> None:
        async def all_of_them() -> None:
            async with self._pool() as pool:
                for part in batches(times):
                    await _batch(Queries(AsyncpgPoolDriver(pool)), part)

        uvloop.run(all_of_them())

    def submit(self, seconds: float, size: int) -> float:
        due = time.time() + DAY
        payload, after = str(due).encode(), timedelta(seconds=DAY)

        async def measured() -> float:
            async with self._pool() as pool:
                queries = Queries(AsyncpgPoolDriver(pool))
                if size == 1:
                    return await crowd(lambda: queries.enqueue("note", payload, 0, after), seconds)
                return await crowd(lambda: _batch(queries, [due] * size), seconds, size)

        return uvloop.run(measured())

    def work(self) -> None:
        async def run() -> None:
            async with self._pool() as pool:
                queuer = PgQueuer.from_asyncpg_pool(pool)
                queuer.entrypoint("note")(note)
                await queuer.run(dequeue_timeout=POLL, batch_size=BATCH)

        uvloop.run(run())

    def _pool(self) -> asyncpg.Pool:
        return asyncpg.create_pool(self.url, min_size=4, max_size=CONNECTIONS)


async def _batch(queries: Queries, times: Sequence[float]) -> None:
    """It takes distances, not times, and adds them to the server's clock."""
    now = time.time()
    count = len(times)
    payloads = [str(due).encode() for due in times]
    after = [timedelta(seconds=due - now) for due in times]
    await queries.enqueue(["note"] * count, payloads, [0] * count, after)


if __name__ == "__main__":
    main(Pgqueuer())
