"""Load: what is due on schedule, by key; what is due off schedule, by its wake-up call."""

from datetime import timedelta
from uuid import UUID

import pytest

from lamplighter.domain.ids import first_run_id
from lamplighter.domain.job import Policy
from lamplighter.domain.policy import Backoff
from lamplighter.domain.run import Due, Verdict
from lamplighter.domain.states import SkipReason
from lamplighter.ports.ledger import Ledger
from tests.adapters.ledger.builders import TENANT, following, hourly, one_off
from tests.adapters.ledger.play import ANY_SILENCE, Play
from tests.adapters.ledger.stores import on_every_version

FIRST = UUID(int=0)


@on_every_version
def test_pages_come_by_key_and_miss_nobody(play: Play) -> None:
    jobs = [one_off(play.at(30 + n), priority=n + 1, pool=f"p{n}") for n in range(5)]
    play.submit(*reversed(jobs))
    pages, after = [], FIRST
    while page := play.ledger.page(after, play.at(60), 2):
        pages.append(page)
        after = page[-1].run_id
    assert [len(page) for page in pages] == [2, 2, 1]
    expected = [
        Due(play.only_run(job).run_id, TENANT, job.job.pool, job.job.priority, job.first_fire, 0)
        for job in jobs
        if job.first_fire
    ]
    assert [due for page in pages for due in page] == expected


def test_a_page_ends_before_the_given_fire(play: Play) -> None:
    early, late = one_off(play.at(30)), one_off(play.at(60))
    play.submit(early, late)
    assert late.first_fire is not None
    page = play.ledger.page(FIRST, late.first_fire, 10)
    assert [due.run_id for due in page] == [play.only_run(early).run_id]


def test_a_page_begins_after_the_given_key(play: Play) -> None:
    early, late = one_off(play.at(30)), one_off(play.at(60))
    play.submit(early, late)
    page = play.ledger.page(play.only_run(early).run_id, play.at(90), 10)
    assert [due.run_id for due in page] == [play.only_run(late).run_id]
    assert play.ledger.page(first_run_id(play.at(61)), play.at(90), 10) == []


def test_a_page_tells_when_a_run_is_due_with_its_jitter(play: Play) -> None:
    run = play.submitted(hourly(play.at(30), timing={"jitter_seconds": 600.0}))
    [due] = play.ledger.page(FIRST, play.at(60), 10)
    assert due.due_at == run.due_at


def test_a_page_holds_only_what_waits_for_its_time(play: Play) -> None:
    upstream = one_off(play.at(-0.5))
    blocked = following(upstream)
    late = one_off(play.at(-30))
    play.submit(upstream, blocked, late)
    cancelled, claimed = play.due(), play.due()
    play.ledger.cancel_runs(TENANT, [cancelled.run_id])
    play.start(claimed)
    page = play.ledger.page(FIRST, play.at(60), 10)
    assert [due.run_id for due in page] == [play.only_run(upstream).run_id]


def test_what_is_off_schedule_comes_by_its_wake_up_call(play: Play) -> None:
    jobs = [one_off(play.at(-30 - n)) for n in range(3)]
    for job in jobs:
        play.submit(job)
    woken = play.ledger.wake(play.at(1), 2)
    assert [due.run_id for due in woken] == [play.only_run(job).run_id for job in jobs[:2]]
    assert {due.fence for due in woken} == {0}


@on_every_version
def test_a_woken_run_is_woken_again_only_after_a_minute(play: Play) -> None:
    run = play.submitted(one_off(play.at(-30)))
    assert len(play.ledger.wake(play.at(1), 10)) == 1
    assert play.ledger.wake(play.at(1), 10) == []
    call = play.seen(run).wake_at
    assert call is not None
    assert timedelta(seconds=55) < call - play.ledger.now() <= timedelta(seconds=60)
    assert [due.run_id for due in play.ledger.wake(play.at(61), 10)] == [run.run_id]


@pytest.mark.parametrize("silenced", ["claim", "end", "skip"])
def test_a_wake_up_call_is_silenced(play: Play, silenced: str) -> None:
    run = play.submitted(one_off(play.at(-30)))
    if silenced == "claim":
        play.start(run)
    elif silenced == "end":
        play.ledger.cancel_runs(TENANT, [run.run_id])
    else:
        play.ledger.skip([run.run_id], SkipReason.EXPIRED)
    assert play.ledger.wake(play.at(3600), 10) == []


def test_a_retry_is_woken_when_its_backoff_is_over(play: Play) -> None:
    run = play.due(policy=Policy(backoff=Backoff(base_seconds=30, jitter=False)))
    settled = play.end(play.start(run), Verdict.FAILED)
    assert play.ledger.wake(play.at(20), 10) == []
    [due] = play.ledger.wake(play.at(40), 10)
    assert (due.run_id, due.fence, due.due_at) == (run.run_id, 1, settled.wake_at)


def test_a_retry_that_was_woken_ahead_does_not_come_sooner_for_it(play: Play) -> None:
    run = play.due(policy=Policy(backoff=Backoff(base_seconds=300, jitter=False)))
    settled = play.end(play.start(run), Verdict.FAILED)
    play.ledger.wake(play.at(400), 10)
    call = play.seen(run).wake_at
    assert settled.wake_at is not None
    assert call is not None
    assert call >= settled.wake_at


def test_a_lost_run_is_woken_with_its_next_fence(play: Play) -> None:
    run = play.due()
    play.start(run)
    play.ledger.requeue_lost(ANY_SILENCE)
    [due] = play.ledger.wake(play.at(1), 10)
    assert (due.run_id, due.fence) == (run.run_id, 2)


def test_a_late_run_with_jitter_is_not_due_before_its_time(play: Play) -> None:
    run = play.submitted(hourly(play.at(-30), timing={"jitter_seconds": 86_400.0}))
    [due] = play.ledger.wake(play.at(86_400), 10)
    assert due.due_at >= run.due_at


@on_every_version
def test_what_nobody_claims_is_found_by_its_age(play: Play) -> None:
    older, newer = play.submitted(one_off(play.at(-60))), play.submitted(one_off(play.at(-30)))
    play.ledger.wake(play.at(1), 10)
    oldest = play.ledger.unclaimed(play.at(61))
    assert oldest is not None
    assert (oldest.run_id, oldest.due_at) == (older.run_id, older.due_at)
    play.start(older)
    oldest = play.ledger.unclaimed(play.at(61))
    assert oldest is not None
    assert oldest.run_id == newer.run_id
    assert play.ledger.unclaimed(play.at(10)) is None


def test_who_waited_for_good_reason_is_not_unclaimed(play: Play) -> None:
    upstream = one_off(play.at(-60))
    play.submit(upstream, following(upstream))
    play.start(play.only_run(upstream))
    lost, retried = play.due(), play.due()
    play.end(play.start(retried), Verdict.FAILED)
    play.start(lost)
    play.again(play.due_hourly())
    play.ledger.requeue_lost(ANY_SILENCE)
    play.ledger.free_dependents([play.only_run(upstream).run_id])
    assert play.ledger.unclaimed(play.at(3600)) is None


def test_nothing_there_is_nothing_loaded(ledger: Ledger) -> None:
    assert ledger.page(FIRST, ledger.now() + timedelta(days=1), 10) == []
    assert ledger.wake(ledger.now() + timedelta(days=1), 10) == []
