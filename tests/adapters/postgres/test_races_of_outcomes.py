"""An outcome that meets another: a second report, the next in line, a cancel, the sweep."""

from datetime import timedelta

import pytest

from lamplighter.adapters.postgres.ledger import PostgresLedger
from lamplighter.domain.ids import new_job_id
from lamplighter.domain.run import ClaimAnswer, Recorded, Refusal, Settled, Ticket
from lamplighter.domain.states import RunState
from tests.adapters.postgres.making import (
    SECOND,
    claim_one,
    failure,
    fresh,
    submit_many,
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

S = RunState
LIMIT = {"concurrency_key": "printer", "max_concurrency": 1}
SILENCE = timedelta(seconds=15)
PLAIN: dict[str, object] = {}


def _sweep(ledger: PostgresLedger) -> list[Settled]:
    return ledger.requeue_lost(SILENCE)


@pytest.mark.parametrize("fields", [PLAIN, LIMIT], ids=["plain", "limited"])
def test_of_two_reports_of_one_attempt_one_is_accepted(
    world: World, fields: dict[str, object]
) -> None:
    def set_up(world: World) -> Scene:
        _, ticket = submit_once(world.ledger, utc_now(), tenant=fresh("t"), **fields)
        fence = claim_one(world.ledger, ticket, fresh("w"))
        good, bad = success(ticket.run_id, fence), failure(ticket.run_id, fence)

        def check(first: list[Settled], second: list[Settled]) -> None:
            accepted = [each for each in (*first, *second) if each.recorded is Recorded.ACCEPTED]
            assert len(accepted) == 1
            assert world.state(ticket.run_id) is accepted[0].state

        return Scene([finishing(good), finishing(bad)], check)

    world.race(set_up, samples=5)


def _runner_and_waiter(
    world: World, *, parked: bool, **fields: object
) -> tuple[str, Ticket, int, Ticket]:
    """A run that holds its key's only slot, and the next one, parked or still to be claimed."""
    tenant = fresh("t")
    fires = [utc_now() - SECOND, utc_now()]
    runner, waiter = submit_many(world.ledger, fires, tenant=tenant, **fields)
    fence = claim_one(world.ledger, runner, fresh("w"))
    if parked:
        answer = world.ledger.claim(fresh("w"), new_job_id(utc_now()), [waiter])
        assert answer.refused == {waiter.run_id: Refusal.PARKED}
    return tenant, runner, fence, waiter


@pytest.mark.parametrize("fields", [LIMIT, {"ordering_key": "ledger"}], ids=["limit", "order"])
def test_a_slot_that_is_given_up_while_the_next_run_asks_for_it_is_not_lost(
    world: World, fields: dict[str, object]
) -> None:
    def set_up(world: World) -> Scene:
        _, runner, fence, waiter = _runner_and_waiter(world, parked=False, **fields)

        def check(finish: list[Settled], claim: ClaimAnswer) -> None:
            assert finish[0].state is S.SUCCESS
            # Parked, and at once handed the slot that the other gave up.
            started = waiter.run_id in claimed_by(claim)
            assert world.state(waiter.run_id) is (S.RUNNING if started else S.SCHEDULED)

        calls = [finishing(success(runner.run_id, fence)), claiming(fresh("w"), waiter)]
        return Scene(calls, check)

    world.race(set_up, samples=6)


def test_a_slot_is_not_handed_to_a_parked_run_that_is_being_cancelled(world: World) -> None:
    def set_up(world: World) -> Scene:
        tenant, runner, fence, waiter = _runner_and_waiter(world, parked=True, **LIMIT)

        def check(finish: list[Settled], cancel: list[Settled]) -> None:
            assert finish[0].state is S.SUCCESS
            assert cancel[0].state is world.state(waiter.run_id) is S.CANCELLED

        calls = [finishing(success(runner.run_id, fence)), cancelling(tenant, waiter)]
        return Scene(calls, check)

    world.race(set_up, samples=6)


@pytest.mark.parametrize("fields", [PLAIN, LIMIT], ids=["plain", "limited"])
def test_a_report_of_a_worker_thought_dead_ends_its_run_or_changes_nothing(
    world: World, fields: dict[str, object]
) -> None:
    def set_up(world: World) -> Scene:
        worker = fresh("w")
        _, ticket = submit_once(world.ledger, utc_now(), tenant=fresh("t"), **fields)
        fence = claim_one(world.ledger, ticket, worker)
        world.age(worker)

        def check(finish: list[Settled], swept: list[Settled]) -> None:
            in_time = finish[0].recorded is Recorded.ACCEPTED
            assert ticket.run_id in {each.run_id for each in swept} or in_time
            assert world.state(ticket.run_id) is (S.SUCCESS if in_time else S.SCHEDULED)

        return Scene([finishing(success(ticket.run_id, fence)), _sweep], check)

    world.race(set_up)


def test_a_run_that_is_taken_back_is_claimed_under_its_next_fence_only(world: World) -> None:
    def set_up(world: World) -> Scene:
        worker = fresh("w")
        _, ticket = submit_once(world.ledger, utc_now(), tenant=fresh("t"), **LIMIT)
        fence = claim_one(world.ledger, ticket, worker)
        world.age(worker)

        def check(swept: list[Settled], claim: ClaimAnswer) -> None:
            assert ticket.run_id in {each.run_id for each in swept}
            fences = [run.fence for run in claim.claimed]
            assert fences in ([], [fence + 2])
            assert world.state(ticket.run_id) is (S.RUNNING if fences else S.SCHEDULED)

        ahead = Ticket(ticket.run_id, fence + 1)
        return Scene([_sweep, claiming(fresh("w"), ahead)], check)

    world.race(set_up)


def test_locks_of_unused_keys_are_swept_while_somebody_takes_them(world: World) -> None:
    def set_up(world: World) -> Scene:
        tenant = fresh("t")
        one, two = submit_many(world.ledger, [utc_now()] * 2, tenant=tenant, **LIMIT)
        fence = claim_one(world.ledger, one, fresh("w"))
        world.ledger.finish([success(one.run_id, fence)])  # leaves a lock that nobody needs

        def check(claim: ClaimAnswer, swept: list[Settled]) -> None:
            assert claimed_by(claim) == {two.run_id}

        return Scene([claiming(fresh("w"), two), _sweep], check)

    world.race(set_up)


def test_a_worker_that_comes_back_with_an_old_claim_is_still_watched(world: World) -> None:
    """It was silent for an hour between two calls under one claim id, and the sweep meets it."""

    def set_up(world: World) -> Scene:
        tenant, worker, claim_id = fresh("t"), fresh("w"), new_job_id(utc_now())
        [one, two] = submit_many(world.ledger, [utc_now()] * 2, tenant=tenant)
        world.ledger.claim(worker, claim_id, [one])
        world.age(worker)

        def claim(ledger: PostgresLedger) -> ClaimAnswer:
            return ledger.claim(worker, claim_id, [two])

        def check(claim: ClaimAnswer, swept: list[Settled]) -> None:
            assert claimed_by(claim) == {two.run_id}

        return Scene([claim, _sweep], check)

    world.race(set_up)


def test_a_worker_that_froze_between_the_halves_of_a_claim_is_still_watched(
    world: World,
) -> None:
    """A Lambda that is frozen mid-call: the sweep forgets the worker, and then it goes on."""
    tenant, worker = fresh("t"), fresh("w")
    plain, _ = submit_many(world.ledger, [utc_now()] * 2, tenant=tenant)
    _, limited = submit_once(world.ledger, utc_now(), tenant=tenant, max_concurrency=1)

    def sweep(ledger: PostgresLedger) -> list[Settled]:
        world.age(worker)
        return ledger.requeue_lost(SILENCE)

    def check(claim: ClaimAnswer, swept: list[Settled]) -> None:
        assert limited.run_id in claimed_by(claim)

    scene = Scene([claiming(worker, plain, limited), sweep], check)
    world.trial(lambda _: scene, [(0, 1), (1, 1_000_000)])
    world.age(worker)
    assert limited.run_id in {each.run_id for each in world.ledger.requeue_lost(SILENCE)}
    world.drain()
