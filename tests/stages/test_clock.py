"""The ledger's clock, as this process carries it on."""

from datetime import UTC, datetime, timedelta

from lamplighter.stages.clock import LedgerClock

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


class Far:
    """A ledger whose answers take these seconds, one after the other; each is right at its end."""

    def __init__(self, *seconds: float) -> None:
        self._seconds = list(seconds)
        self.passed = 0.0

    def steady(self) -> float:
        return self.passed

    def read(self) -> datetime:
        self.passed += self._seconds.pop(0)
        return NOON + timedelta(seconds=self.passed)


def test_an_answer_that_had_to_connect_first_is_asked_for_once_more() -> None:
    far = Far(16.0, 0.002)
    clock = LedgerClock(far.read, steady=far.steady, slow=timedelta(milliseconds=20))

    off = clock.now() - (NOON + timedelta(seconds=far.passed))

    assert abs(off) <= timedelta(milliseconds=1)


def test_a_ledger_that_is_far_away_is_asked_no_third_time() -> None:
    far = Far(0.5, 0.5)
    clock = LedgerClock(far.read, steady=far.steady, slow=timedelta(milliseconds=20))

    clock.now()
    clock.now()

    assert far.passed == 1.0


def test_who_keeps_its_connections_asks_once() -> None:
    far = Far(16.0)

    LedgerClock(far.read, steady=far.steady).now()

    assert far.passed == 16.0
