"""The ledger: where jobs and runs are written down, and the only place that decides.

Every call is one short transaction, takes whole batches, and may be repeated: what was already
done is answered as such and not done twice. All of them raise LedgerUnavailable, and nothing else,
when the store cannot be reached. Time is the ledger's own clock.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Protocol
from uuid import UUID

import msgspec

from lamplighter.domain.job import Job
from lamplighter.domain.run import (
    Accepted,
    Attempt,
    ClaimAnswer,
    Due,
    Outcome,
    Run,
    Settled,
    Submission,
    Ticket,
)
from lamplighter.domain.schedule import Calendar
from lamplighter.domain.states import RunState, SkipReason
from lamplighter.ports.rollups import Rollups


class Lease(msgspec.Struct, frozen=True):
    """The right to lead. `epoch` rises with every new holder and fences what the old one sends."""

    name: str
    holder: str
    epoch: int
    expires_at: datetime


class Cursor(msgspec.Struct, frozen=True):
    """How far loading has come. Nothing below the watermark still waits to be looked at."""

    loaded_to: datetime
    watermark: datetime


class Agenda(msgspec.Struct, frozen=True):
    """When there is next something to do; None where nothing is in sight."""

    fire_at: datetime | None  # a schedule is to be planned before this
    wake_at: datetime | None  # a run off schedule is to be woken, or has waited too long


class SilentWorker(msgspec.Struct, frozen=True):
    """A worker that has not been heard of since."""

    worker_id: str
    pool: str
    heartbeat_at: datetime


class DueSchedule(msgspec.Struct, frozen=True):
    """A schedule that fires within the horizon, with the job that it belongs to."""

    job: Job
    next_fire_at: datetime


class Missed(msgspec.Struct, frozen=True):
    """Consecutive fires that will not run, kept as one row."""

    first: datetime
    last: datetime
    count: int
    reason: SkipReason


class Planned(msgspec.Struct, frozen=True):
    """What to write for one schedule: runs, fires that were missed, and where it stands next.

    It counts only if the schedule still stands at `seen_fire` under `version`.
    """

    job: Job
    seen_fire: datetime
    version: int
    fires: tuple[datetime, ...]
    missed: tuple[Missed, ...]
    next_fire_at: datetime | None


class KeyUse(msgspec.Struct, frozen=True):
    """When an Idempotency-Key was first used, and what was answered; None: nothing yet."""

    used_at: datetime
    answer: Any = None


class Submissions(Protocol):
    def submit(self, submissions: Sequence[Submission]) -> Accepted:
        """Write jobs, edges and first runs: all or nothing.

        Refuses unknown upstreams and cycles (InvalidGraph), and a known job id with another
        fingerprint (IdempotencyConflict). A known job with the same fingerprint is left as it is.
        """

    def reject(self, submissions: Sequence[Submission], reason: str) -> frozenset[UUID]:
        """Keep jobs that were accepted elsewhere and must be refused here: seen, but never run.

        A job that is known is left as it is. Answers with those that were not.
        """

    def add_run(
        self, tenant: str, job_id: UUID, origin: str, fire: datetime, *, cascade: bool = False
    ) -> list[Due]:
        """A run beside the schedule (runNow), one per pool; same origin, same run.

        Wakes at once where the fire is past. `cascade`: whoever takes its fires from this job,
        directly or not, gets a blocked run of the same origin and fire, which waits for those of
        its upstreams that have one. InvalidJob where too many would.
        """

    def add_runs(
        self, tenant: str, job_id: UUID, origin: str, fires: Sequence[datetime]
    ) -> list[Due]:
        """The same for many fires at once (backfill), all or nothing."""


class Claims(Protocol):
    def claim(self, worker_id: str, claim_id: UUID, tickets: Sequence[Ticket]) -> ClaimAnswer:
        """Give a batch of runs to one worker. Repeated under the same claim_id, the same answer.

        Judges here, and not before: job paused or cancelled, catch-up, expiry, fence, slots.
        """

    def heartbeat(self, worker_id: str, pool: str, capacity: int) -> list[UUID]:
        """The worker lives. Answers with its runs that somebody wants stopped."""

    def mark_reported(self, claim_ids: Sequence[UUID]) -> None:
        """The bus has acknowledged every outcome of these claims: leave them to the recorder."""

    def requeue_lost(self, silence: timedelta) -> list[Settled]:
        """Take back the runs of workers silent for so long, each with its next fence.

        A job with `on_ambiguous: hold` has them HELD; the fifth loss ends as FAILED, and whoever
        waits for that run is judged with it: the answer names them too.
        """

    def forget_workers(self, silence: timedelta) -> list[SilentWorker]:
        """Strike workers silent for so long off the list; each is named once.

        Not those with claims: their runs are taken back first.
        """

    def is_any_running(self) -> bool:
        """Whether some run is with a worker: somebody has to watch over it."""


class Overdue(Protocol):
    def settle_overdue(self, limit: int = 1000) -> list[Settled]:
        """End what has waited too long, and let go on what should have gone on by now.

        That is who is next for a slot, and whose upstreams have ended: the word of it may be lost.

        Blocked runs end as SKIPPED: upstream_missing, parked ones as SKIPPED: expired, and held
        ones, after a week, as FAILED. Whoever waits for those is judged with them.
        """

    def decide_held(self, tenant: str, run_id: UUID, state: RunState) -> Settled:
        """What a held run has come to, says a person: SCHEDULED (again), SUCCESS or FAILED."""


class Outcomes(Protocol):
    def finish(self, outcomes: Sequence[Outcome]) -> list[Settled]:
        """Record how attempts ended, one answer each, in the order given.

        A failure becomes RETRYING while the job has attempts left, and ends otherwise. Slots are
        given up and handed on. An older fence changes nothing.
        """

    def awaited(self, jobs: Mapping[UUID, str]) -> set[UUID]:
        """Those of these jobs, each with its tenant, that others wait for, or may in a moment.

        To be asked when their runs have ended: whoever begins to wait later sees that by itself.
        """

    def free_dependents(self, upstream_runs: Sequence[UUID]) -> list[Settled]:
        """Judge the blocked runs that wait for these: free them, skip them, or let them wait.

        A skipped one may decide others: they are judged in the same call, a page of them to a
        transaction. `settle_overdue` finds what a call that was cut off has left.
        """

    def skip(self, run_ids: Sequence[UUID], reason: SkipReason) -> list[Settled]:
        """End runs that have not started, with a reason."""


class Changes(Protocol):
    def cancel_runs(self, tenant: str, run_ids: Sequence[UUID]) -> list[Settled]:
        """End what waits; ask the worker of what runs. Answers CANCELLED or CANCELLING each."""

    def cancel_job(self, tenant: str, job_id: UUID) -> Job:
        """Remove its future, end what is due, stop what runs. JobNotFound if there is none."""

    def pause(self, tenant: str, job_id: UUID) -> Job: ...

    def resume(self, tenant: str, job_id: UUID) -> Job: ...

    def reschedule(
        self,
        job: Job,
        *,
        expected_version: int,
        first_fire: datetime | None,
        next_fire: datetime | None,
    ) -> Job:
        """Replace a job's definition: its future runs go, the new first run comes; due ones stay.

        A recurring job stands ahead of the ledger's now, even where the fires given do not.
        VersionConflict when the job has changed since; JobEnded when it was cancelled.
        """


class Horizon(Protocol):
    def agenda(self) -> Agenda:
        """One glance, for whoever would otherwise ask again and again what is due."""

    def due_schedules(self, until: datetime, limit: int) -> list[DueSchedule]: ...

    def plan(self, lease: Lease, planned: Sequence[Planned]) -> list[Due]:
        """Write the runs of these fires and move the schedules on. LeaseLost for an older epoch.

        A schedule that was changed meanwhile is left alone; its runs are not written.
        """

    def page(self, after: UUID, until: datetime, limit: int) -> list[Due]:
        """On schedule: runs waiting for their time, by key, after this one, before that fire."""

    def wake(self, until: datetime, limit: int) -> list[Due]:
        """Off schedule: runs whose `wake_at` has come. Pushes it a minute on, until claimed."""

    def unclaimed(self, until: datetime) -> Due | None:
        """Of runs that have to be called because nobody claims them, the oldest, at a glance.

        Those whose next call comes before `until`. Not who waited for an upstream or a slot, nor
        who was claimed and lost: they are not late in this way.
        """

    def busy_pools(self, pools: Collection[str]) -> set[str]:
        """Those of them in which some worker has a run in hand, and has not told of its end."""

    def cursor(self) -> Cursor: ...

    def move_cursor(self, lease: Lease, loaded_to: datetime) -> None:
        """Remember how far loading has come. LeaseLost for an older epoch."""

    def advance_watermark(self, lease: Lease, to: datetime) -> Cursor:
        """Wake what is still unclaimed below `to`, then let the watermark pass it.

        Passes only once every transaction that could still commit such a run has ended; until
        then the watermark stays, and the next call goes on.
        """


class Leases(Protocol):
    def lease(self, name: str) -> Lease | None:
        """As it stands, held or run out; None if nobody ever had it. Costs no write."""

    def acquire_lease(self, name: str, holder: str, ttl: timedelta) -> Lease | None:
        """Take the lease if it is free or has expired; None while somebody else holds it."""

    def renew_lease(self, lease: Lease, ttl: timedelta) -> Lease:
        """LeaseLost if somebody else has taken it, or it was given up."""

    def release_lease(self, lease: Lease) -> None: ...


class Calendars(Protocol):
    def save_calendar(self, tenant: str, calendar: Calendar) -> Calendar:
        """Keep a new version of a named calendar; answers with the version it got.

        Schedules that use it are planned anew, from now on.
        """

    def calendars(self, tenant: str) -> dict[str, Calendar]:
        """The newest version of each."""


class Keys(Protocol):
    """Idempotency-Keys of changes, remembered for a day. A route is a method and a path."""

    def use_key(self, tenant: str, route: str, key: str, fingerprint: bytes) -> KeyUse:
        """The first use of it, which may be this one. IdempotencyConflict: that was another's."""

    def answer_key(
        self, tenant: str, route: str, key: str, fingerprint: bytes, answer: Any
    ) -> None:
        """Keep what was answered, in terms of JSON, for whoever sends the same again.

        Also where a twin that was refused has forgotten the key, unless it is another's by now.
        """

    def forget_key(self, tenant: str, route: str, key: str) -> None:
        """Nothing came of it: the key is free again, unless somebody answered it meanwhile."""


class Upkeep(Protocol):
    def ensure_partitions(self, first: datetime, last: datetime) -> None:
        """Make the days between these ready for runs. Safe to repeat, and from many at once."""

    def drop_partitions(self, before: datetime) -> list[str]:
        """Retire whole days of history, but none with an open run. Names what went."""

    def forget_before(self, before: datetime) -> None:
        """What no day takes with it: minutes, the audit log, and jobs that ended without history.

        Versions of jobs stay for as long as they may explain a run that is still there.
        """


class Reads(Protocol):
    def now(self) -> datetime: ...

    def job(self, tenant: str, job_id: UUID) -> Job:
        """JobNotFound if there is none, or it is another tenant's."""

    def job_versions(self, tenant: str, job_id: UUID) -> list[Job]:
        """What the job was before, oldest first; the present one is last."""

    def run(self, tenant: str, run_id: UUID) -> Run: ...

    def runs(self, tenant: str, job_id: UUID, limit: int = 100) -> list[Run]:
        """Newest fire first."""

    def attempts(self, tenant: str, run_id: UUID) -> list[Attempt]: ...

    def count_runs(self, state: RunState) -> int: ...


class Ledger(
    Submissions,
    Claims,
    Overdue,
    Outcomes,
    Changes,
    Horizon,
    Leases,
    Calendars,
    Keys,
    Upkeep,
    Rollups,
    Reads,
    Protocol,
):
    """All of it: what `PostgresLedger` and `MemoryLedger` both are, and one suite proves."""
