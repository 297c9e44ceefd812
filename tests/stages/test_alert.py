"""Alert: tried again a few times, and never in the way of the batch."""

import threading
from datetime import UTC, datetime
from uuid import uuid4

from lamplighter.ports.alerts import Alert, AlertFailed
from lamplighter.stages.alert import Alarm

PATIENCE = 10.0
NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


def _alert() -> Alert:
    return Alert(
        tenant="acme",
        job_id=uuid4(),
        job_name="nightly",
        run_id=uuid4(),
        status="FAILED",
        error=None,
        attempt=1,
        fire_at=NOON,
        ended_at=NOON,
    )


class Way:
    def __init__(self, *failures: AlertFailed) -> None:
        self.failures = list(failures)
        self.tried: list[Alert] = []
        self.sent: list[Alert] = []

    def send(self, alert: Alert) -> None:
        self.tried.append(alert)
        if self.failures:
            raise self.failures.pop(0)
        self.sent.append(alert)


def test_an_alert_that_did_not_get_through_is_sent_again_with_growing_pauses() -> None:
    pauses: list[float] = []
    way = Way(AlertFailed("busy"), AlertFailed("busy"))
    alert = _alert()

    Alarm([way], sleep=pauses.append).sound([alert])

    assert (way.sent, pauses) == ([alert], [1.0, 2.0])


def test_an_alert_is_given_up_after_three_tries_and_the_next_one_goes_on() -> None:
    way = Way(*[AlertFailed("busy")] * 3)
    first, second = _alert(), _alert()

    Alarm([way], sleep=lambda _: None).sound([first, second])

    assert (way.tried, way.sent) == ([first, first, first, second], [second])


def test_an_alert_that_was_refused_is_not_sent_again() -> None:
    way = Way(AlertFailed("no such key", retryable=False))
    Alarm([way], sleep=lambda _: None).sound([_alert()])
    assert len(way.tried) == 1


class HangingWay:
    def __init__(self) -> None:
        self.let_go = threading.Event()

    def send(self, _: Alert) -> None:
        self.let_go.wait(PATIENCE)


def test_a_way_that_hangs_delays_neither_the_batch_nor_the_other_ways() -> None:
    hanging, way = HangingWay(), Way()
    alert = _alert()
    alarm = Alarm([hanging, way], wait_seconds=0.0)

    alarm.sound([alert])

    assert alarm._outboxes[1].drain(PATIENCE)
    assert way.sent == [alert]
    hanging.let_go.set()
    assert alarm._outboxes[0].drain(PATIENCE)


def test_an_alarm_without_ways_is_silent() -> None:
    assert Alarm([]).is_silent
    Alarm([]).sound([_alert()])
