"""Slots that are taken, waited for and given back while an edit of the job moves them."""

from typing import Any

import msgspec
import pytest

from lamplighter.adapters.postgres.ledger import PostgresLedger
from lamplighter.domain.job import Job, JobStatus
from lamplighter.domain.policy import Overlap
from lamplighter.domain.run import ClaimAnswer, Recorded, Refusal, Settled, Ticket
from lamplighter.domain.states import RunState
from tests.adapters.postgres.making import (
    HOUR,
    MINUTE,
    claim_one,
    fresh,
    run_now,
    submit_often,
    success,
    utc_now,
)
from tests.adapters.postgres.races import Scene, World, claimed_by, claiming, finishing
from tests.adapters.postgres.stepping import Call

S = RunState
LIMIT: dict[str, Any] = {"concurrency_key": "printer", "max_concurrency": 1}
WIDER: dict[str, Any] = {"max_concurrency": 2}
SWAPPED: dict[str, Any] = {"concurrency_key": "plotter"}

edits = pytest.mark.parametrize("fields", [WIDER, SWAPPED], ids=["wider", "swapped"])


def _held(world: World) -> tuple[Job, Ticket, int]:
    """A job of which one run holds the only slot, by the fence that is told."""
    job, holder = submit_often(world.ledger, utc_now(), tenant=fresh("t"), **LIMIT)
    return job, holder, claim_one(world.ledger, holder, fresh("w"))


def _parked(world: World, job: Job) -> Ticket:
    ticket = run_now(world.ledger, job)
    answer = claiming(fresh("w"), ticket)(world.ledger)
    assert answer.refused == {ticket.run_id: Refusal.PARKED}
    return ticket


def _crowded(world: World, tenant: str, key: str) -> Job:
    """One run holds the key's only slot, one is parked, one is due, one ahead."""
    first = utc_now() + MINUTE
    fields: dict[str, Any] = {"overlap": Overlap.ALLOW, "concurrency_key": key}
    job, _ = submit_often(world.ledger, first, tenant=tenant, max_concurrency=1, **fields)
    claim_one(world.ledger, run_now(world.ledger, job), fresh("w"))
    _parked(world, job)
    run_now(world.ledger, job)
    return job


def _cancelling(job: Job) -> Call:
    return lambda ledger: ledger.cancel_job(job.tenant, job.job_id)


def _editing(job: Job, fields: dict[str, Any]) -> Call:
    after = msgspec.structs.replace(job, **fields)

    def call(ledger: PostgresLedger) -> Job:
        return ledger.reschedule(
            after, expected_version=1, first_fire=None, next_fire=utc_now() + HOUR
        )

    return call


@edits
def test_a_claim_that_meets_an_edit_starts_or_is_woken_for_the_slot_that_is_free_now(
    world: World, fields: dict[str, Any]
) -> None:
    def set_up(world: World) -> Scene:
        job, _, _ = _held(world)
        ticket = run_now(world.ledger, job)

        def check(claim: ClaimAnswer, edited: Job) -> None:
            assert edited.version == 2
            started = ticket.run_id in claimed_by(claim)
            assert started or claim.refused == {ticket.run_id: Refusal.PARKED}
            assert world.state(ticket.run_id) is (S.RUNNING if started else S.SCHEDULED)

        return Scene([claiming(fresh("w"), ticket), _editing(job, fields)], check)

    world.race(set_up, samples=5)


@edits
def test_a_finish_that_meets_an_edit_leaves_nobody_waiting_by_the_old_limit(
    world: World, fields: dict[str, Any]
) -> None:
    """Both that waited ask again, and as many start as there are slots now."""

    def set_up(world: World) -> Scene:
        job, holder, fence = _held(world)
        first, second = _parked(world, job), _parked(world, job)

        def check(finish: list[Settled], edited: Job) -> None:
            assert edited.version == 2
            assert [each.recorded for each in finish] == [Recorded.ACCEPTED]
            assert world.state(holder.run_id) is S.SUCCESS
            assert {world.state(each.run_id) for each in (first, second)} == {S.SCHEDULED}
            again = claiming(fresh("w"), first, second)(world.ledger)
            assert len(again.claimed) == (2 if fields is WIDER else 1)

        calls = [finishing(success(holder.run_id, fence)), _editing(job, fields)]
        return Scene(calls, check)

    world.race(set_up, samples=5)


def test_two_edits_that_swap_their_keys_never_wait_in_a_circle(world: World) -> None:
    met = world.players.deadlocks

    def set_up(world: World) -> Scene:
        tenant = fresh("t")
        one, two = (_crowded(world, tenant, key) for key in ("a", "b"))

        def check(*edited: Job) -> None:
            assert [(job.concurrency_key, job.version) for job in edited] == [("b", 2), ("a", 2)]

        calls = [_editing(one, {"concurrency_key": "b"}), _editing(two, {"concurrency_key": "a"})]
        return Scene(calls, check)

    world.race(set_up, mirrored=True, samples=6)
    assert world.players.deadlocks == met, "each may be answered with 503 in the end"


def test_a_cancel_that_meets_a_finish_waits_in_no_circle(world: World) -> None:
    """The run ahead has a place in the order already, what runs has the slot besides."""
    met = world.players.deadlocks

    def set_up(world: World) -> Scene:
        ordered = {"tenant": fresh("t"), "ordering_key": "k", **LIMIT}
        job, _ = submit_often(world.ledger, utc_now() + MINUTE, **ordered)
        holder = run_now(world.ledger, job)
        fence = claim_one(world.ledger, holder, fresh("w"))

        def check(cancelled: Job, finish: list[Settled]) -> None:
            assert cancelled.status is JobStatus.CANCELLED
            assert [each.recorded for each in finish] == [Recorded.ACCEPTED]

        return Scene([_cancelling(job), finishing(success(holder.run_id, fence))], check)

    world.race(set_up, samples=6)
    assert world.players.deadlocks == met, "each may be answered with 503 in the end"
