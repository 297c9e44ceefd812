"""A small town over a ledger in memory: a clock that is wound, a watcher, and workers by hand."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import msgspec

from lamplighter.adapters.memory.clock import WoundClock
from lamplighter.adapters.memory.history import MemoryHistory
from lamplighter.adapters.memory.ledger import MemoryLedger
from lamplighter.domain.job import Job, Policy
from lamplighter.domain.policy import Backoff, CatchUp, CatchUpPolicy, ScheduleType, Upstream
from lamplighter.domain.run import Attempt, Claimed, Outcome, Run, Submission, Ticket, Verdict
from lamplighter.domain.schedule import Schedule, validate
from lamplighter.domain.states import RunState
from lamplighter.stages.desk import fires_from
from lamplighter.stages.plan import HORIZON, plan
from lamplighter.stages.verify import Report, verify

TENANT = "acme"
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
CALM = Policy(backoff=Backoff(base_seconds=10, jitter=False))


class World:
    """Time goes on in minutes: each plans, wakes, and works off what is due, as `work` says."""

    def __init__(self, start: datetime = NOON) -> None:
        self.clock = WoundClock(start)
        self.ledger = MemoryLedger(self.clock)
        self.start = start
        self.verdicts: dict[UUID, list[Verdict]] = {}

    # The client.

    def submit(self, schedule: Schedule, **fields: Any) -> Job:
        kept = validate(schedule, now=self.clock(), calendars=self.ledger.calendars(TENANT))
        timing = fires_from(kept, self.clock(), self.ledger.calendars(TENANT))
        given = {"job_id": uuid4(), "name": "a job", "tenant": TENANT, "policy": CALM, **fields}
        job = Job(schedule=kept, **given)
        self.ledger.submit([Submission(job, timing.first_fire, timing.next_fire)])
        return self.ledger.job(TENANT, job.job_id)

    def cron(self, text: str = "* * * * *", timing: dict[str, Any] | None = None, **f: Any) -> Job:
        return self.submit(Schedule(ScheduleType.CRON, cron_expression=text, **(timing or {})), **f)

    def once(self, at: datetime | None = None, **fields: Any) -> Job:
        if at is None:
            return self.submit(Schedule(ScheduleType.IMMEDIATE), **fields)
        return self.submit(Schedule(ScheduleType.FUTURE, at), **fields)

    def after(self, *upstreams: Job | Upstream, **fields: Any) -> Job:
        edges = tuple(
            Upstream(str(each.job_id)) if isinstance(each, Job) else each for each in upstreams
        )
        return self.submit(Schedule(ScheduleType.AFTER), after=edges, **fields)

    def edit(self, job: Job, schedule: Schedule | None = None, **fields: Any) -> Job:
        before = self.ledger.job(TENANT, job.job_id)
        calendars = self.ledger.calendars(TENANT)
        now = self.clock()
        kept = before.schedule if schedule is None else validate(schedule, now=now)
        timing = fires_from(kept, now, calendars)
        after = msgspec.structs.replace(before, schedule=kept, **fields)
        return self.ledger.reschedule(
            after,
            expected_version=before.version,
            first_fire=timing.first_fire,
            next_fire=timing.next_fire,
        )

    # Time.

    def pass_minutes(self, minutes: int, *, step: timedelta = MINUTE) -> None:
        for _ in range(minutes * MINUTE // step):
            self.clock.wind(step)
            self.turn()

    def turn(self) -> None:
        """A watcher's turn, and workers that end whatever is due."""
        self.plan()
        self.ledger.settle_overdue()
        for _ in range(5):  # what one frees, the next may be
            self.work()

    def sleep(self, by: timedelta) -> None:
        """Nobody plans, nobody works."""
        self.clock.wind(by)

    def plan(self) -> None:
        lease = self.ledger.acquire_lease("watcher", "w1", HOUR)
        assert lease is not None
        for _ in plan(self.ledger, lease, self.clock() + HORIZON):
            pass

    def work(self) -> None:
        for claimed in self.claim(*self.due()):
            self.end(claimed, self._next_verdict(claimed.job_id))
            self.ledger.free_dependents([claimed.run_id])

    def _next_verdict(self, job_id: UUID) -> Verdict:
        coming = self.verdicts.get(job_id)
        return coming.pop(0) if coming else Verdict.SUCCESS

    def due(self, *jobs: Job) -> list[Run]:
        now = self.clock()
        wanted = {job.job_id for job in jobs}
        return [
            run
            for run in self.ledger._books.runs.values()
            if run.state in (RunState.SCHEDULED, RunState.RETRYING)
            and run.due_at <= now
            and (run.wake_at is None or run.wake_at <= now)
            and (not wanted or run.job_id in wanted)
        ]

    def claim(self, *runs: Run, worker: str = "w1") -> list[Claimed]:
        tickets = [Ticket(run.run_id, run.fence) for run in runs]
        return self.ledger.claim(worker, uuid4(), tickets).claimed

    def end(self, claimed: Claimed, verdict: Verdict = Verdict.SUCCESS) -> None:
        outcome = Outcome(run_id=claimed.run_id, fence=claimed.fence, verdict=verdict)
        self.ledger.finish([outcome])

    def runs(self, job: Job) -> list[Run]:
        """Oldest fire first."""
        return self.ledger.runs(TENANT, job.job_id, limit=100_000)[::-1]

    # The checker, and those who tamper with what it reads.

    def verify(self, **asked: Any) -> Report:
        given = {"since": self.start - DAY, "until": self.clock() + DAY, **asked}
        return MemoryHistory(self.ledger).read(lambda history: verify(history, **given))

    def found(self, **asked: Any) -> set[str]:
        """The rules that found something."""
        return {tally.rule for tally in self.verify(**asked).rules if tally.found}

    def tamper(self, run: Run, **fields: Any) -> None:
        books = self.ledger._books
        books.runs[run.run_id] = msgspec.structs.replace(books.runs[run.run_id], **fields)

    def drop(self, *runs: Run) -> None:
        for run in runs:
            del self.ledger._books.runs[run.run_id]
            del self.ledger._books.runs_of[run.job_id][run.run_id]

    def insert(self, run: Run) -> None:
        self.ledger._books.runs[run.run_id] = run
        self.ledger._books.runs_of[run.job_id][run.run_id] = None

    def note(self, run: Run, *attempts: Attempt) -> None:
        self.ledger._books.attempts[run.run_id] = attempts


def every(seconds: float, **fields: Any) -> Schedule:
    return Schedule(ScheduleType.INTERVAL, interval_seconds=seconds, **fields)


CATCH_ALL = CatchUpPolicy(CatchUp.ALL, window_seconds=86_400)
CATCH_NONE = CatchUpPolicy(CatchUp.NONE)
