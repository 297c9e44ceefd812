"""One walk through everything a ledger does, each call with few rows of a single day."""

import os
from datetime import timedelta
from typing import Any

import msgspec
import psycopg

from lamplighter.adapters.postgres.api_keys import PostgresApiKeys
from lamplighter.adapters.postgres.ledger import PostgresLedger
from lamplighter.domain.api_key import Role
from lamplighter.domain.ids import first_run_id, new_job_id
from lamplighter.domain.job import Job, Policy
from lamplighter.domain.policy import EdgeRule, JobClass, OnAmbiguous, Overlap, Upstream
from lamplighter.domain.run import Submission, Ticket
from lamplighter.domain.schedule import Calendar, CalendarUse, Schedule
from lamplighter.domain.states import RunState, SkipReason
from lamplighter.ports.ledger import Lease, Missed, Planned
from lamplighter.ports.rollups import Rollup, WorkerNote
from tests.adapters.postgres.filled import first_day
from tests.adapters.postgres.making import (
    DAY,
    HOUR,
    MINUTE,
    SECOND,
    after,
    claim_one,
    every_minute,
    failure,
    fresh,
    once,
    run_now,
    submit_many,
    submit_often,
    submit_once,
    success,
    utc_now,
)

TENANT = "tour"
_AGE = (
    "UPDATE workers SET heartbeat_at = heartbeat_at - interval '1 h' WHERE worker_id = %s",
    "UPDATE claims SET claimed_at = claimed_at - interval '1 h' WHERE worker_id = %s",
)
_OVERDUE = (
    "UPDATE job_runs SET wake_at = now() - interval '1 h' WHERE tenant = 'tour' AND status = 3"
)
# No stop of the tour asks for what is older.
LOOKS_BACK = 2 * HOUR
_REWIND = "UPDATE ledger_bounds SET watermark = now() - %s::interval"
# Finished long ago: two that fired once and waited for a third, one of them still to fire again.
_LEAVING = """
WITH u AS (
    INSERT INTO jobs (job_id, tenant, name, schedule_type, schedule_time, repeats, has_upstreams)
    SELECT gen_random_uuid(), 'tour', n, 'FUTURE', %(at)s, false, n > '1'
    FROM unnest(ARRAY['1', '2', '3']) AS n RETURNING job_id, name
), d AS (
    INSERT INTO job_dependencies (job_id, upstream_id, tenant, position, rule)
    SELECT u.job_id, up.job_id, 'tour', 0, 'same_fire'
    FROM u, u AS up WHERE u.name > '1' AND up.name = '1'
), s AS (
    INSERT INTO schedules (job_id, tenant, next_fire_at, version)
    SELECT job_id, 'tour', now() + interval '90 days', 1 FROM u WHERE name = '3'
)
INSERT INTO job_runs (run_id, job_id, tenant, pool, priority, status, end_time)
SELECT (left(%(first)s::text, 24) || lpad(name, 12, '0'))::uuid, job_id, 'tour', 'default', 5, 13,
       %(at)s FROM u
"""
LIMIT: dict[str, Any] = {"tenant": TENANT, "concurrency_key": "printer", "max_concurrency": 1}


class Tour:
    """Each method is a stop. What time alone would bring about is put there by `conn`."""

    def __init__(self, ledger: PostgresLedger, conn: psycopg.Connection[tuple[Any, ...]]) -> None:
        self.ledger = ledger
        self._conn = conn
        lease = ledger.acquire_lease("watcher", "tour", timedelta(hours=1))
        assert lease
        self.lease: Lease = lease

    def submissions(self) -> None:
        submit_many(self.ledger, [utc_now()] * 3, tenant=TENANT)
        job = once(utc_now(), tenant=TENANT, ordering_key="line")
        for _ in range(2):
            self.ledger.submit([Submission(job, utc_now(), fingerprint=b"body")])
        run_now(self.ledger, job)
        self.ledger.reject([Submission(once(utc_now(), tenant=TENANT))], "no such calendar")

    def keys(self) -> None:
        given = (TENANT, "PUT /jobs/1", fresh("key"))
        self.ledger.use_key(*given, b"body")
        self.ledger.answer_key(*given, b"body", {"status": 200})
        self.ledger.forget_key(*given)

    def api_keys(self) -> None:
        keys = PostgresApiKeys(self.ledger._db)
        digest = os.urandom(32)
        made = keys.add(digest, tenant=TENANT, name="a key", role=Role.READER, lifetime=None)
        assert keys.find(digest) == made
        assert made in keys.list(TENANT)
        keys.revoke(made.key_id)

    def claims(self) -> None:
        plain = submit_many(self.ledger, [utc_now()] * 5, tenant=TENANT)
        limited = submit_many(self.ledger, [utc_now()] * 2, **LIMIT)
        ordered = submit_many(self.ledger, [utc_now()] * 2, tenant=TENANT, ordering_key="next")
        claim_id = new_job_id(utc_now())
        tickets = [*plain, *limited, *ordered]
        self.ledger.claim("tourist", claim_id, tickets)
        answer = self.ledger.claim("tourist", claim_id, tickets)
        self.ledger.heartbeat("tourist", "default", 10)
        self.ledger.cancel_runs(TENANT, [answer.claimed[0].run_id])
        outcomes = [success(run.run_id, run.fence) for run in answer.claimed[1:-1]]
        last = answer.claimed[-1]
        self.ledger.finish([*outcomes, failure(last.run_id, last.fence)])
        self.ledger.mark_reported([claim_id])

    def recurring(self) -> None:
        forbid = {"tenant": TENANT, "overlap": Overlap.FORBID}
        tickets = [submit_often(self.ledger, utc_now(), **forbid)[1] for _ in range(3)]
        answer = self.ledger.claim("tourist", new_job_id(utc_now()), tickets)
        self.ledger.finish([success(run.run_id, run.fence) for run in answer.claimed])

    def replacements(self) -> None:
        job, ticket = submit_often(self.ledger, utc_now(), tenant=TENANT, overlap=Overlap.REPLACE)
        claim_one(self.ledger, ticket, "tourist")
        self.ledger.claim("tourist", new_job_id(utc_now()), [run_now(self.ledger, job)])

    def losses(self) -> None:
        held = Policy(on_ambiguous=OnAmbiguous.HOLD)
        for policy in (Policy(), held):
            worker = fresh("lost")
            _, ticket = submit_once(self.ledger, utc_now(), policy=policy, **LIMIT | _own_key())
            claim_one(self.ledger, ticket, worker)
            for change in _AGE:
                self._conn.execute(change, [worker])
        swept = self.ledger.requeue_lost(timedelta(seconds=15))
        [run] = [each.run_id for each in swept if each.state is RunState.HELD]
        self.ledger.decide_held(TENANT, run, RunState.SUCCESS)
        self.ledger.forget_workers(timedelta(seconds=15))
        self.ledger.is_any_running()
        self._conn.execute(_OVERDUE)
        self.ledger.settle_overdue()

    def graphs(self) -> None:
        upstream, ticket = submit_once(self.ledger, utc_now(), tenant=TENANT)
        first = after(upstream, tenant=TENANT)
        second = after(first, tenant=TENANT)
        rule = (Upstream(str(upstream.job_id), EdgeRule.LATEST_SUCCESS),)
        third = once(utc_now(), tenant=TENANT, after=rule)
        given = [Submission(first), Submission(second), Submission(third, utc_now())]
        self.ledger.submit(given)
        fence = claim_one(self.ledger, ticket, "tourist")
        self.ledger.finish([success(ticket.run_id, fence)])
        self.ledger.awaited({upstream.job_id: TENANT})
        self.ledger.free_dependents([ticket.run_id])

    def skips(self) -> None:
        upstream, ticket = submit_once(self.ledger, utc_now(), tenant=TENANT, max_retries=0)
        first = after(upstream, tenant=TENANT)
        self.ledger.submit([Submission(first), Submission(after(first, tenant=TENANT))])
        self.ledger.finish([failure(ticket.run_id, claim_one(self.ledger, ticket, "tourist"))])
        self.ledger.free_dependents([ticket.run_id])

    def changes(self) -> None:
        soon = utc_now() + SECOND
        job, ticket = submit_once(self.ledger, soon, **LIMIT | _own_key())
        upstream, _ = submit_once(self.ledger, soon, tenant=TENANT)
        self.ledger.pause(TENANT, job.job_id)
        self.ledger.resume(TENANT, job.job_id)
        edit = {"max_concurrency": 2, "after": (Upstream(str(upstream.job_id)),)}
        edited = msgspec.structs.replace(job, **edit)
        self.ledger.reschedule(edited, expected_version=3, first_fire=soon, next_fire=None)
        ahead = every_minute(utc_now() + 90 * 24 * HOUR, tenant=TENANT)
        start = ahead.schedule.start_at
        self.ledger.submit([Submission(ahead, start, start)])
        self.ledger.reschedule(ahead, expected_version=1, first_fire=start, next_fire=start)
        self.ledger.skip([ticket.run_id], SkipReason.EXPIRED)
        self.ledger.cancel_job(TENANT, job.job_id)

    def plans(self) -> None:
        self.ledger.due_schedules(utc_now() + HOUR, 100)
        job, _ = submit_often(self.ledger, utc_now() - 2 * MINUTE, tenant=TENANT)
        start = job.schedule.start_at
        assert start
        dependent = after(job, tenant=TENANT)
        self.ledger.submit([Submission(dependent)])
        # The first of the two has a run: the row begins after it.
        missed = Missed(start, start + MINUTE, 2, SkipReason.MISSED_WINDOW)
        fires = (start + 2 * MINUTE,)
        step = Planned(job, start + MINUTE, 1, fires, (missed,), start + 3 * MINUTE)
        self.ledger.plan(self.lease, [step])
        [*_, run] = self.ledger.runs(TENANT, job.job_id)
        self.ledger.free_dependents([run.run_id])

    def loading(self) -> None:
        now = utc_now()
        submit_many(self.ledger, [now - HOUR], tenant=TENANT)
        self.ledger.agenda()
        self.ledger.cursor()
        self.ledger.move_cursor(self.lease, now)
        self.ledger.page(first_run_id(now - MINUTE), now + MINUTE, 100)
        self.ledger.unclaimed(now + MINUTE)
        self.ledger.busy_pools(["default"])
        self.ledger.wake(now, 100)
        self._conn.execute(_REWIND, [LOOKS_BACK])
        self.ledger.advance_watermark(self.lease, now - 6 * SECOND)

    def leases(self) -> None:
        lease = self.ledger.acquire_lease("other", "tour", timedelta(hours=1))
        assert lease
        self.ledger.renew_lease(lease, timedelta(hours=1))
        self.ledger.lease("other")
        self.ledger.release_lease(lease)

    def calendars(self) -> None:
        self.ledger.save_calendar(TENANT, Calendar("holidays"))
        job = _with_calendar(every_minute(utc_now(), tenant=TENANT, overlap=Overlap.QUEUE))
        [due] = self.ledger.submit([Submission(job, utc_now())]).runs
        claim_one(self.ledger, Ticket(due.run_id, due.fence), "tourist")

    def partitions(self) -> None:
        self.ledger.ensure_partitions(utc_now(), utc_now())
        given = {"at": first_day(), "first": first_run_id(first_day())}
        self._conn.execute(_LEAVING, given)
        self.ledger.drop_partitions(first_day() + DAY)
        self.ledger.forget_before(first_day() + DAY)

    def rollups(self) -> None:
        minute = utc_now().replace(second=0, microsecond=0)
        counted = Rollup(minute, TENANT, "default", JobClass.P2, RunState.SUCCESS, 1, 10, 20, 20)
        self.ledger.add_minutes([counted])
        job, _ = submit_once(self.ledger, utc_now(), tenant=TENANT)
        self.ledger.critical_jobs([job.job_id])
        self.ledger.note_workers([WorkerNote("tourist", "default", 1, "worker.stopped", utc_now())])

    def reads(self) -> None:
        job, ticket = submit_once(self.ledger, utc_now(), tenant=TENANT)
        self.ledger.now()
        self.ledger.job_versions(TENANT, job.job_id)
        self.ledger.run(TENANT, ticket.run_id)
        self.ledger.runs(TENANT, job.job_id)
        self.ledger.attempts(TENANT, ticket.run_id)
        self.ledger.count_runs(RunState.RUNNING)


def _own_key() -> dict[str, str]:
    return {"concurrency_key": fresh("key")}


def _with_calendar(job: Job) -> Job:
    use = CalendarUse(exclude=("holidays",))
    schedule: Schedule = msgspec.structs.replace(job.schedule, calendar=use)
    return msgspec.structs.replace(job, schedule=schedule)
