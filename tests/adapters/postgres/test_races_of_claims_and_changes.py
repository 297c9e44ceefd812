"""A claim that meets somebody's change of mind: cancel, pause, reschedule."""

from datetime import timedelta

import pytest

from lamplighter.adapters.postgres.ledger import PostgresLedger
from lamplighter.domain.errors import JobEnded
from lamplighter.domain.job import Job, JobStatus
from lamplighter.domain.run import ClaimAnswer, Due, Refusal, Settled, Ticket
from lamplighter.domain.states import RunState
from tests.adapters.postgres.making import (
    HOUR,
    claim_one,
    fresh,
    once,
    submit_many,
    submit_often,
    submit_once,
    success,
    utc_now,
)
from tests.adapters.postgres.races import (
    Scene,
    World,
    cancelling,
    claimed_by,
    claiming,
    finishing,
)
from tests.adapters.postgres.stepping import ALL

S = RunState
PLAIN: dict[str, object] = {}
LIMITED: dict[str, object] = {"max_concurrency": 1}


@pytest.mark.parametrize("fields", [PLAIN, LIMITED], ids=["plain", "limited"])
def test_a_cancelled_run_never_starts_and_a_started_one_is_asked_to_stop(
    world: World, fields: dict[str, object]
) -> None:
    def set_up(world: World) -> Scene:
        tenant = fresh("t")
        _, ticket = submit_once(world.ledger, utc_now(), tenant=tenant, **fields)

        def check(claim: ClaimAnswer, cancel: list[Settled]) -> None:
            started = ticket.run_id in claimed_by(claim)
            assert cancel[0].state is (S.CANCELLING if started else S.CANCELLED)
            assert world.state(ticket.run_id) is cancel[0].state

        return Scene([claiming(fresh("w"), ticket), cancelling(tenant, ticket)], check)

    world.race(set_up, samples=5)


@pytest.mark.parametrize("fields", [PLAIN, LIMITED], ids=["plain", "limited"])
def test_no_run_of_a_cancelled_job_starts(world: World, fields: dict[str, object]) -> None:
    def set_up(world: World) -> Scene:
        job, ticket = submit_often(world.ledger, utc_now(), tenant=fresh("t"), **fields)

        def cancel(ledger: PostgresLedger) -> Job:
            return ledger.cancel_job(job.tenant, job.job_id)

        def check(claim: ClaimAnswer, cancelled: Job) -> None:
            assert cancelled.status is JobStatus.CANCELLED
            started = ticket.run_id in claimed_by(claim)
            assert world.state(ticket.run_id) is (S.CANCELLING if started else S.CANCELLED)

        return Scene([claiming(fresh("w"), ticket), cancel], check)

    world.race(set_up, samples=5)


def test_a_run_that_is_added_while_its_job_is_cancelled_never_starts(world: World) -> None:
    def set_up(world: World) -> Scene:
        job, _ = submit_often(world.ledger, utc_now() + HOUR, tenant=fresh("t"))

        def add(ledger: PostgresLedger) -> list[Due]:
            return ledger.add_run(job.tenant, job.job_id, "now:1", utc_now())

        def cancel(ledger: PostgresLedger) -> Job:
            return ledger.cancel_job(job.tenant, job.job_id)

        def check(added: list[Due] | JobEnded, cancelled: Job) -> None:
            if isinstance(added, JobEnded):
                return
            tickets = [Ticket(due.run_id, due.fence) for due in added]
            assert claiming(fresh("w"), *tickets)(world.ledger).claimed == []
            assert {world.state(due.run_id) for due in added} == {S.CANCELLED}

        return Scene([add, cancel], check)

    world.race(set_up)


@pytest.mark.parametrize("fields", [PLAIN, LIMITED], ids=["plain", "limited"])
def test_a_fire_that_meets_a_pause_runs_or_is_skipped(
    world: World, fields: dict[str, object]
) -> None:
    def set_up(world: World) -> Scene:
        job, ticket = submit_often(world.ledger, utc_now(), tenant=fresh("t"), **fields)

        def pause(ledger: PostgresLedger) -> Job:
            return ledger.pause(job.tenant, job.job_id)

        def check(claim: ClaimAnswer, paused: Job) -> None:
            assert paused.status is JobStatus.PAUSED
            started = ticket.run_id in claimed_by(claim)
            assert world.state(ticket.run_id) is (S.RUNNING if started else S.SKIPPED)

        return Scene([claiming(fresh("w"), ticket), pause], check)

    world.race(set_up)


def test_a_run_that_is_claimed_early_meets_a_reschedule_and_runs_or_goes(world: World) -> None:
    def set_up(world: World) -> Scene:
        soon = utc_now() + timedelta(milliseconds=900)
        job, ticket = submit_once(world.ledger, soon, tenant=fresh("t"))
        later = once(soon + HOUR, tenant=job.tenant)

        def reschedule(ledger: PostgresLedger) -> Job:
            wanted = Job(
                job_id=job.job_id, name="later", tenant=job.tenant, schedule=later.schedule
            )
            return ledger.reschedule(
                wanted, expected_version=1, first_fire=soon + HOUR, next_fire=None
            )

        def check(claim: ClaimAnswer, rescheduled: Job) -> None:
            assert rescheduled.version == 2
            started = ticket.run_id in claimed_by(claim)
            assert started or claim.refused[ticket.run_id] is Refusal.GONE
            assert world.state(ticket.run_id) is (S.RUNNING if started else None)
            assert len(world.ledger.runs(job.tenant, job.job_id)) == 1 + started

        return Scene([claiming(fresh("w"), ticket), reschedule], check)

    world.race(set_up)


def _parked_behind_a_runner(world: World) -> tuple[str, Ticket, int, Ticket]:
    """One run that holds the only slot, and one that no one has claimed yet."""
    tenant = fresh("t")
    limit = {"concurrency_key": "printer", "max_concurrency": 1}
    runner, waiter = submit_many(world.ledger, [utc_now()] * 2, tenant=tenant, **limit)
    return tenant, runner, claim_one(world.ledger, runner, fresh("w")), waiter


@pytest.mark.parametrize("stop", range(12))
def test_a_cancel_that_peeked_too_early_does_not_break_the_handing_over_of_a_slot(
    world: World, stop: int
) -> None:
    """Three at once: the cancel has looked for keys, the claim then parks its run under one, and
    the slot's holder ends while the cancel is between two statements."""

    def set_up(world: World) -> Scene:
        tenant, runner, fence, waiter = _parked_behind_a_runner(world)
        calls = [
            cancelling(tenant, waiter),
            claiming(fresh("w"), waiter),
            finishing(success(runner.run_id, fence)),
        ]

        def check(cancel: list[Settled], claim: ClaimAnswer, finish: list[Settled]) -> None:
            assert cancel[0].state is S.CANCELLED
            assert finish[0].state is S.SUCCESS

        return Scene(calls, check)

    world.trial(set_up, [(0, 2), (1, ALL), (0, stop), (2, ALL)])
    world.drain()
