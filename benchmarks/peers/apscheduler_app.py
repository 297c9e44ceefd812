"""APScheduler 3 with its jobs in PostgreSQL: one scheduler, threads, at most once, nothing kept."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from apscheduler.schedulers.background import BackgroundScheduler

from benchmarks.peers.protocol import CONNECTIONS, DAY, Program, main, mark, threads

THREADS = 10
# It has no batches, and what is prepared before a measure needs no fsync for each job.
UNHURRIED = "?options=-csynchronous_commit%3Doff"


class Apscheduler(Program):
    def prepare(self) -> None:
        """It makes its table itself."""
        with self._scheduler(paused=True):
            pass

    def enqueue(self, times: Sequence[float]) -> None:
        with self._scheduler(paused=True, options=UNHURRIED) as scheduler:
            for due in times:
                _add(scheduler, due)

    def submit(self, seconds: float, size: int) -> float:
        due = time.time() + DAY
        with self._scheduler(paused=True) as scheduler:
            return threads(lambda: _add(scheduler, due), seconds, CONNECTIONS) * size

    def work(self) -> None:
        """It knows only of what it was told itself or finds when it wakes: so it is woken."""
        with self._scheduler(paused=False) as scheduler:
            while True:
                time.sleep(0.05)
                scheduler.wakeup()

    @contextmanager
    def _scheduler(self, *, paused: bool, options: str = "") -> Iterator[BackgroundScheduler]:
        url = self.url.replace("postgresql:", "postgresql+psycopg:") + options
        store = SQLAlchemyJobStore(url, engine_options={"pool_size": CONNECTIONS})
        scheduler = BackgroundScheduler(
            jobstores={"default": store},
            executors={"default": ThreadPoolExecutor(THREADS)},
            job_defaults={"misfire_grace_time": None, "max_instances": 1, "coalesce": False},
            timezone=UTC,
        )
        scheduler.start(paused=paused)
        try:
            yield scheduler
        finally:
            scheduler.shutdown()


def _add(scheduler: BackgroundScheduler, due: float) -> None:
    scheduler.add_job(mark, "date", run_date=datetime.fromtimestamp(due, UTC), args=[due])


if __name__ == "__main__":
    main(Apscheduler())
