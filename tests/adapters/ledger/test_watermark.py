"""The cursor and the watermark: below it, nothing still waits to be looked at."""

import time
from datetime import datetime, timedelta

import pytest

from lamplighter.domain.errors import LeaseLost
from lamplighter.ports.ledger import Cursor, Lease
from tests.adapters.ledger.builders import hourly, one_off
from tests.adapters.ledger.play import Play

PATIENCE = 30.0


def advance(play: Play, lease: Lease, to: datetime) -> Cursor:
    """Until it has passed, which takes five seconds after `to`: a late commit may still come."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        cursor = play.ledger.advance_watermark(lease, to)
        if cursor.watermark >= to:
            return cursor
        time.sleep(0.02)
    raise AssertionError(f"the watermark has not reached {to}")


def test_the_cursor_is_where_it_was_moved_to(play: Play) -> None:
    lease, to = play.lease(), play.at(300)
    before = play.ledger.cursor()
    for _ in range(2):
        play.ledger.move_cursor(lease, to)
        assert play.ledger.cursor() == Cursor(to, before.watermark)


def test_the_cursor_may_go_back_to_start_over(play: Play) -> None:
    """A lost cache is loaded again from the watermark."""
    lease = play.lease()
    start = play.ledger.cursor().watermark
    play.ledger.move_cursor(lease, play.at(300))
    play.ledger.move_cursor(lease, start)
    assert play.ledger.cursor().loaded_to == start


def test_what_is_left_behind_gets_a_wake_up_call(play: Play) -> None:
    lease = play.lease()
    left = play.due()
    claimed = play.due()
    jittered = play.submitted(hourly(play.at(-1), timing={"jitter_seconds": 86_400.0}))
    ahead = play.submitted(one_off(play.at(60)))
    assert {play.seen(run).wake_at for run in (left, jittered, ahead)} == {None}
    play.start(claimed)
    to = play.at(-0.1)
    assert advance(play, lease, to).watermark == to
    call = play.seen(left).wake_at
    assert call is not None
    assert call <= play.ledger.now()
    # Jitter is not cut short by being looked at.
    assert play.seen(jittered).wake_at == jittered.due_at
    assert play.seen(claimed).wake_at is None
    assert play.seen(ahead).wake_at is None
    assert [due.run_id for due in play.ledger.wake(play.at(1), 10)] == [left.run_id]
    assert play.ledger.advance_watermark(lease, to - timedelta(seconds=9)).watermark == to


def test_the_watermark_does_not_pass_what_may_still_be_written(play: Play) -> None:
    """A run of this very moment would get no wake-up call, and nobody would page that far back."""
    lease = play.lease()
    before = play.ledger.cursor()
    assert play.ledger.advance_watermark(lease, play.at(60)) == before
    assert play.ledger.advance_watermark(lease, play.at(-0.5)) == before


def test_an_older_epoch_moves_nothing(play: Play) -> None:
    old = play.ledger.acquire_lease("watcher", "old", timedelta(seconds=-1))
    assert old is not None
    play.lease("new")
    before = play.ledger.cursor()
    with pytest.raises(LeaseLost):
        play.ledger.move_cursor(old, play.at(300))
    with pytest.raises(LeaseLost):
        play.ledger.advance_watermark(old, play.at(-60))
    assert play.ledger.cursor() == before
