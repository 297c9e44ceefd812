"""The agenda: what is next, at one glance."""

from datetime import timedelta

from lamplighter.domain.run import Verdict
from lamplighter.ports.ledger import Agenda
from tests.adapters.ledger.builders import following, hourly, one_off
from tests.adapters.ledger.play import Play
from tests.adapters.ledger.stores import on_every_version


@on_every_version
def test_nothing_is_next_in_an_empty_ledger(play: Play) -> None:
    assert play.ledger.agenda() == Agenda(None, None)


def test_what_goes_to_plan_is_on_no_agenda(play: Play) -> None:
    play.submit(one_off(play.at(10)))
    assert play.ledger.agenda() == Agenda(None, None)


@on_every_version
def test_the_first_schedule_to_plan_is_next(play: Play) -> None:
    early, late = hourly(play.at(60)), hourly(play.at(600))
    play.submit(late, early)
    assert play.ledger.agenda().fire_at == early.next_fire


@on_every_version
def test_the_first_wake_up_call_is_next(play: Play) -> None:
    play.submit(one_off(play.at(-30)))
    failed = play.end(play.start(play.due(max_retries=1)), Verdict.FAILED)
    first = play.ledger.agenda().wake_at
    assert first is not None
    assert first <= play.ledger.now()
    play.ledger.wake(play.ledger.now(), 10)
    assert play.ledger.agenda().wake_at == failed.wake_at


def test_a_blocked_run_is_on_the_agenda_when_it_has_waited_too_long(play: Play) -> None:
    upstream = one_off(play.at(60))
    play.submit(upstream, following(upstream))
    wake_at = play.ledger.agenda().wake_at
    assert wake_at is not None
    assert wake_at > play.ledger.now() + timedelta(hours=1)
