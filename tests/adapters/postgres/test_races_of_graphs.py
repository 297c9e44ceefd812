"""Edges that are drawn while jobs end, go, or draw edges themselves."""

from datetime import datetime
from uuid import UUID

import pytest

from lamplighter.adapters.postgres.ledger import PostgresLedger
from lamplighter.domain.errors import InvalidGraph
from lamplighter.domain.ids import new_job_id
from lamplighter.domain.job import Job, JobStatus
from lamplighter.domain.policy import Upstream
from lamplighter.domain.run import Accepted, Settled, Submission, Ticket
from lamplighter.domain.states import RunState, SkipReason
from tests.adapters.postgres.making import (
    HOUR,
    after,
    claim_one,
    fresh,
    once,
    submit_once,
    success,
    utc_now,
)
from tests.adapters.postgres.races import Scene, World
from tests.adapters.postgres.stepping import Call


def _putting_after(job: Job, upstream: Job, fire: datetime) -> Call:
    edge = Upstream(str(upstream.job_id))
    wanted = Job(
        job_id=job.job_id, name="edited", tenant=job.tenant, schedule=job.schedule, after=(edge,)
    )

    def call(ledger: PostgresLedger) -> Job:
        return ledger.reschedule(wanted, expected_version=1, first_fire=fire, next_fire=None)

    return call


def _edges(world: World, tenant: str) -> int:
    query = "SELECT count(*) FROM job_dependencies WHERE tenant = %s"
    [[edges]] = world.conn.execute(query, [tenant]).fetchall()
    return int(edges)


def test_edits_of_jobs_without_edges_do_not_wait_for_each_other(world: World) -> None:
    fire, tenant = utc_now() + HOUR, fresh("t")
    job = submit_once(world.ledger, fire, tenant=tenant)[0]
    wanted = Job(job_id=job.job_id, name="edited", tenant=tenant, schedule=job.schedule)

    with world.conn.transaction():  # somebody else's edit has come so far
        keep = "SELECT pg_advisory_xact_lock_shared(hashtextextended('graph:' || %s, 0))"
        world.conn.execute(keep, [tenant])
        edited = world.ledger.reschedule(
            wanted, expected_version=1, first_fire=fire, next_fire=None
        )

    assert (edited.name, edited.version) == ("edited", 2)


def test_two_edits_cannot_close_a_cycle_between_them(world: World) -> None:
    def set_up(world: World) -> Scene:
        fire, tenant = utc_now() + HOUR, fresh("t")
        one, two = (submit_once(world.ledger, fire, tenant=tenant)[0] for _ in range(2))

        def check(*answers: Job | InvalidGraph) -> None:
            assert sorted(type(answer).__name__ for answer in answers) == ["InvalidGraph", "Job"]
            assert _edges(world, tenant) == 1

        return Scene([_putting_after(one, two, fire), _putting_after(two, one, fire)], check)

    world.race(set_up, mirrored=True, samples=6)
    assert world.players.deadlocks == 0, "a second of standing still each, and then all over again"


def _submitting(job: Job) -> Call:
    def call(ledger: PostgresLedger) -> Accepted:
        return ledger.submit([Submission(job)])

    return call


def test_a_dependent_of_a_job_that_is_being_edited_waits_for_the_edit(world: World) -> None:
    def set_up(world: World) -> Scene:
        fire, tenant = utc_now() + HOUR, fresh("t")
        upstream, _ = submit_once(world.ledger, fire, tenant=tenant)
        other, _ = submit_once(world.ledger, fire, tenant=tenant)
        dependent = after(upstream, tenant=tenant)

        def check(edited: Job, accepted: Accepted) -> None:
            assert edited.version == 2
            assert accepted.created == {dependent.job_id}
            [run] = world.ledger.runs(tenant, dependent.job_id)
            assert (run.state, run.fire_at) == (RunState.BLOCKED, fire)

        calls = [_putting_after(upstream, other, fire), _submitting(dependent)]
        return Scene(calls, check)

    world.race(set_up, samples=5)
    assert world.players.deadlocks == 0, "a second of standing still each, and then all over again"


def test_nobody_comes_to_wait_for_a_job_that_was_cancelled(world: World) -> None:
    def set_up(world: World) -> Scene:
        fire, tenant = utc_now() + HOUR, fresh("t")
        upstream, _ = submit_once(world.ledger, fire, tenant=tenant)
        dependent = after(upstream, tenant=tenant)

        def cancel(ledger: PostgresLedger) -> Job:
            return ledger.cancel_job(tenant, upstream.job_id)

        def check(accepted: Accepted | InvalidGraph, cancelled: Job) -> None:
            assert cancelled.status is JobStatus.CANCELLED
            if isinstance(accepted, Accepted):  # before the cancel, which then ended its run
                [run] = world.ledger.runs(tenant, dependent.job_id)
                assert (run.state, run.reason) == (RunState.SKIPPED, SkipReason.UPSTREAM_FAILED)
            else:
                assert isinstance(accepted, InvalidGraph)
                assert _edges(world, tenant) == 0

        return Scene([_submitting(dependent), cancel], check)

    world.race(set_up, samples=5)


def _ending(run: UUID, fence: int) -> Call:
    """What the recorder and then the resolver do when a run has succeeded."""

    def call(ledger: PostgresLedger) -> list[Settled]:
        ledger.finish([success(run, fence)])
        return ledger.free_dependents([run])

    return call


def _recording(job: Job, run: UUID, fence: int) -> Call:
    """As the recorder does it: only where somebody waits."""

    def call(ledger: PostgresLedger) -> list[Settled]:
        ledger.finish([success(run, fence)])
        awaited = ledger.awaited({job.job_id: job.tenant})
        return ledger.free_dependents([run]) if awaited else []

    return call


@pytest.mark.parametrize("asks", [False, True], ids=["always", "where somebody waits"])
def test_a_dependent_that_is_submitted_while_its_upstream_ends_is_freed(
    world: World, *, asks: bool
) -> None:
    def set_up(world: World) -> Scene:
        tenant = fresh("t")
        upstream, ticket = submit_once(world.ledger, utc_now(), tenant=tenant)
        fence = claim_one(world.ledger, ticket, fresh("w"))
        dependent = after(upstream, tenant=tenant)

        def check(accepted: Accepted, freed: list[Settled]) -> None:
            [run] = world.ledger.runs(tenant, dependent.job_id)
            assert run.state is RunState.SCHEDULED

        recording = _recording(upstream, ticket.run_id, fence)
        ending = recording if asks else _ending(ticket.run_id, fence)
        return Scene([_submitting(dependent), ending], check)

    world.race(set_up, samples=6)


def test_the_last_of_two_upstreams_to_end_frees_their_dependent(world: World) -> None:
    def set_up(world: World) -> Scene:
        tenant, fire = fresh("t"), utc_now()
        jobs = [once(fire, tenant=tenant) for _ in range(2)]
        dependent = after(*jobs, tenant=tenant)
        given = [Submission(job, first_fire=fire) for job in jobs]
        runs = world.ledger.submit(given).runs
        world.ledger.submit([Submission(dependent)])
        tickets = [Ticket(due.run_id, due.fence) for due in runs]
        claimed = world.ledger.claim(fresh("w"), new_job_id(fire), tickets).claimed

        def check(*_: list[Settled]) -> None:
            [run] = world.ledger.runs(tenant, dependent.job_id)
            assert run.state is RunState.SCHEDULED

        return Scene([_ending(run.run_id, run.fence) for run in claimed], check)

    world.race(set_up, mirrored=True, samples=6)
