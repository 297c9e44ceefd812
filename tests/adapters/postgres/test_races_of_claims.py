"""Two claims that meet at every statement: each run goes to one, each slot to so many."""

from lamplighter.adapters.postgres.ledger import PostgresLedger
from lamplighter.domain.ids import new_job_id
from lamplighter.domain.policy import Overlap
from lamplighter.domain.run import ClaimAnswer, Refusal
from lamplighter.domain.states import RunState
from tests.adapters.postgres.making import (
    SECOND,
    fresh,
    run_now,
    submit_many,
    submit_often,
    submit_once,
    utc_now,
)
from tests.adapters.postgres.races import Scene, World, claimed_by, claiming


def test_two_claims_of_the_same_runs_share_them_without_overlap(world: World) -> None:
    def set_up(world: World) -> Scene:
        tickets = submit_many(world.ledger, [utc_now()] * 3, tenant=fresh("t"))

        def check(first: ClaimAnswer, second: ClaimAnswer) -> None:
            mine, theirs = claimed_by(first), claimed_by(second)
            assert not mine & theirs
            assert mine | theirs == {ticket.run_id for ticket in tickets}
            refused = {**first.refused, **second.refused}
            assert set(refused.values()) <= {Refusal.TAKEN}

        return Scene([claiming(fresh("w"), *tickets), claiming(fresh("w"), *tickets[::-1])], check)

    world.race(set_up, mirrored=True, samples=6)


def test_two_claims_under_one_limit_run_one_and_park_the_other(world: World) -> None:
    def set_up(world: World) -> Scene:
        tenant = fresh("t")
        limit = {"concurrency_key": "printer", "max_concurrency": 1}
        one, two = submit_many(world.ledger, [utc_now()] * 2, tenant=tenant, **limit)

        def check(first: ClaimAnswer, second: ClaimAnswer) -> None:
            assert len(claimed_by(first) | claimed_by(second)) == 1
            refused = {**first.refused, **second.refused}
            assert list(refused.values()) == [Refusal.PARKED]

        return Scene([claiming(fresh("w"), one), claiming(fresh("w"), two)], check)

    world.race(set_up, mirrored=True, samples=6)


def test_whatever_is_claimed_first_ordered_runs_start_in_the_order_of_their_fires(
    world: World,
) -> None:
    tenants: list[str] = []

    def set_up(world: World) -> Scene:
        now, tenant = utc_now(), fresh("t")
        tenants.append(tenant)
        fires = [now - SECOND, now]
        early, late = submit_many(world.ledger, fires, tenant=tenant, ordering_key="ledger")

        def check(first: ClaimAnswer, second: ClaimAnswer) -> None:
            assert late.run_id not in claimed_by(first)
            assert claimed_by(second) == {early.run_id}

        return Scene([claiming(fresh("w"), late), claiming(fresh("w"), early)], check)

    world.race(set_up, samples=6)
    for tenant in tenants:
        started = world.invariants.starts(tenant)
        assert len(started) == 2
        assert started == sorted(started)


def test_of_two_runs_of_a_job_that_forbids_overlap_one_runs_and_one_is_skipped(
    world: World,
) -> None:
    def set_up(world: World) -> Scene:
        job, one = submit_often(world.ledger, utc_now(), tenant=fresh("t"), overlap=Overlap.FORBID)
        two = run_now(world.ledger, job)

        def check(first: ClaimAnswer, second: ClaimAnswer) -> None:
            assert len(claimed_by(first) | claimed_by(second)) == 1
            states = {world.state(one.run_id), world.state(two.run_id)}
            assert states == {RunState.RUNNING, RunState.SKIPPED}

        return Scene([claiming(fresh("w"), one), claiming(fresh("w"), two)], check)

    world.race(set_up, mirrored=True, samples=6)


def test_of_two_runs_of_a_job_that_replaces_the_later_claim_stops_the_earlier(
    world: World,
) -> None:
    def set_up(world: World) -> Scene:
        job, one = submit_often(world.ledger, utc_now(), tenant=fresh("t"), overlap=Overlap.REPLACE)
        two = run_now(world.ledger, job)

        def check(first: ClaimAnswer, second: ClaimAnswer) -> None:
            assert len(claimed_by(first) | claimed_by(second)) == 1
            states = {world.state(one.run_id), world.state(two.run_id)}
            assert states == {RunState.CANCELLING, RunState.PARKED}

        return Scene([claiming(fresh("w"), one), claiming(fresh("w"), two)], check)

    world.race(set_up, mirrored=True, samples=6)


def test_a_claim_repeated_while_the_first_is_under_way_gets_the_same_answer(
    world: World,
) -> None:
    def set_up(world: World) -> Scene:
        tenant, worker, claim_id = fresh("t"), fresh("w"), new_job_id(utc_now())
        _, plain = submit_once(world.ledger, utc_now(), tenant=tenant)
        _, limited = submit_once(world.ledger, utc_now(), tenant=tenant, max_concurrency=1)

        def call(ledger: PostgresLedger) -> ClaimAnswer:
            return ledger.claim(worker, claim_id, [plain, limited])

        def check(first: ClaimAnswer, second: ClaimAnswer) -> None:
            assert claimed_by(first) == claimed_by(second) == {plain.run_id, limited.run_id}
            assert {r.run_id: r for r in first.claimed} == {r.run_id: r for r in second.claimed}

        return Scene([call, call], check)

    world.race(set_up, mirrored=True)
