"""The parts that a test plays: a client, a worker, a watcher, each in one line."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from threading import Barrier
from typing import Any, TypeVar
from uuid import UUID, uuid4

from lamplighter.domain.ids import BY_SCHEDULE, epoch_ms, instant_of, run_id
from lamplighter.domain.job import Job
from lamplighter.domain.run import (
    Accepted,
    ClaimAnswer,
    Claimed,
    Outcome,
    Run,
    Settled,
    Submission,
    Ticket,
    Verdict,
)
from lamplighter.domain.states import RunState
from lamplighter.ports.ledger import Lease, Ledger, Planned
from tests.adapters.ledger.builders import HOUR, TENANT, hourly, one_off

A = TypeVar("A")
T = TypeVar("T")

# Everybody has been silent for longer than this, even whoever spoke in this very instant.
ANY_SILENCE = timedelta(seconds=-60)
A_MINUTE = timedelta(minutes=1)


class Play:
    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger

    def at(self, seconds: float = 0) -> datetime:
        """So far from the ledger's now, in whole milliseconds as fires are."""
        return instant_of(epoch_ms(self.ledger.now() + timedelta(seconds=seconds)))

    # The client.

    def submit(self, *submissions: Submission) -> Accepted:
        return self.ledger.submit(submissions)

    def due(self, **fields: Any) -> Run:
        """A one-off whose time has just come."""
        return self.submitted(one_off(self.at(-1), **fields))

    def due_hourly(self, **fields: Any) -> Run:
        """A recurring job, one of whose fires has just come."""
        return self.submitted(hourly(self.at(-1), **fields))

    def submitted(self, submission: Submission) -> Run:
        self.submit(submission)
        return self.only_run(submission)

    def only_run(self, job: Submission | Job | UUID) -> Run:
        [run] = self.runs(job)
        return run

    def runs(self, job: Submission | Job | UUID) -> list[Run]:
        return self.ledger.runs(TENANT, id_of(job))

    def job(self, job: Submission | Job | UUID) -> Job:
        return self.ledger.job(TENANT, id_of(job))

    def again(self, run: Run, seconds: float = -0.5, origin: str = "now:again") -> Run:
        """One more run of the same job, beside its schedule, so many seconds from now."""
        fire = self.at(seconds)
        self.ledger.add_run(TENANT, run.job_id, origin, fire)
        return self.ledger.run(TENANT, run_id(run.job_id, fire, run.pool, origin))

    # The worker.

    def claim(
        self, *runs: Run | UUID, worker: str = "w1", claim: UUID | None = None
    ) -> ClaimAnswer:
        """With the fence that the ledger has now, as a message that has just been sent."""
        present = [self.seen(run) for run in runs]
        tickets = [Ticket(run.run_id, run.fence) for run in present]
        return self.ledger.claim(worker, claim or uuid4(), tickets)

    def start(self, run: Run | UUID, worker: str = "w1", claim: UUID | None = None) -> Claimed:
        [claimed] = self.claim(run, worker=worker, claim=claim).claimed
        return claimed

    def end(self, claimed: Claimed, verdict: Verdict = Verdict.SUCCESS, **fields: Any) -> Settled:
        outcome = Outcome(run_id=claimed.run_id, fence=claimed.fence, verdict=verdict, **fields)
        [settled] = self.ledger.finish([outcome])
        return settled

    def finish(self, run: Run | UUID, verdict: Verdict = Verdict.SUCCESS, **fields: Any) -> Run:
        """Started and ended in one breath; a failure is final."""
        if verdict is not Verdict.SUCCESS:
            fields.setdefault("retryable", False)
        self.end(self.start(run), verdict, **fields)
        return self.seen(run)

    # The watcher.

    def lease(self, holder: str = "leader", name: str = "watcher") -> Lease:
        lease = self.ledger.acquire_lease(name, holder, A_MINUTE)
        assert lease is not None
        return lease

    def planned(self, submission: Submission, fires: Sequence[datetime], **fields: Any) -> Planned:
        """The plan for the schedule as it stands: these fires, and an hour later the next."""
        job = self.job(submission)
        given = {"missed": (), "next_fire_at": fires[-1] + HOUR if fires else None, **fields}
        seen = given.pop("seen_fire", submission.next_fire)
        return Planned(job, seen, job.version, tuple(fires), given["missed"], given["next_fire_at"])

    # What has become of it.

    def seen(self, run: Run | UUID) -> Run:
        return self.ledger.run(TENANT, run if isinstance(run, UUID) else run.run_id)

    def state(self, run: Run | UUID) -> RunState:
        return self.seen(run).state


def id_of(job: Submission | Job | UUID) -> UUID:
    if isinstance(job, Submission):
        return job.job.job_id
    return job.job_id if isinstance(job, Job) else job


def run_of(job: Submission, fire: datetime, pool: str = "default") -> UUID:
    return run_id(job.job.job_id, fire, pool, BY_SCHEDULE)


def together(*calls: Callable[[], object]) -> list[object]:
    """All at the same time, each in a thread of its own; answers or errors, in the order given."""
    gate = Barrier(len(calls))

    def at_the_gate(call: Callable[[], object]) -> object:
        gate.wait(timeout=60)
        try:
            return call()
        except Exception as error:  # noqa: BLE001 - handed to the test, which knows what to expect
            return error

    with ThreadPoolExecutor(len(calls)) as threads:
        return list(threads.map(at_the_gate, calls))


def at_once(call: Callable[[A], T], given: Iterable[A]) -> list[T]:
    """The same call for each of these, all at the same time; nothing may go wrong."""
    answers: list[T] = []

    def kept(each: A) -> Callable[[], object]:
        return lambda: answers.append(call(each))

    for error in together(*(kept(each) for each in given)):
        if isinstance(error, Exception):
            raise error
    return answers
