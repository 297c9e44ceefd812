"""What a next fire costs. The floor is what no evaluator avoids: an instant in, an instant out."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from random import Random
from time import perf_counter
from typing import TypeVar

from croniter import croniter
from cronsim import CronSim

from benchmarks.report import Row
from lamplighter.domain.policy import CatchUp, CatchUpPolicy, DayMatch, ScheduleType
from lamplighter.domain.schedule import Schedule, catch_up, next_fire
from lamplighter.domain.schedule.expression import parse
from lamplighter.domain.schedule.times import from_ms, to_ms
from lamplighter.domain.schedule.zones import zone

T = TypeVar("T")
START = datetime(2025, 1, 1, tzinfo=UTC)
ASKED = 2000
ROUNDS = 9

# Expression, zone, and over how many years to ask at random, so that no answer is still known.
COMMON = (
    ("* * * * *", "UTC", 10),
    ("*/5 * * * *", "Europe/Berlin", 10),
    ("0 9 * * 1-5", "America/New_York", 60),
    ("30 2 * * *", "Europe/Berlin", 60),
    ("*/10 * * * * *", "Asia/Kolkata", 10),
    ("0 0 L * *", "Europe/London", 300),
    ("0 0 1 1 *", "UTC", 3000),
    ("0 0 29 2 *", "UTC", 6000),
)


def measure() -> list[Row]:
    """Microseconds per call, in the quietest of several rounds."""
    floor = _cost(lambda at: from_ms(to_ms(at)), _moments(10))
    rows = [
        _row(f"next fire, {text} {name}", *_common(text, name, years), floor)
        for text, name, years in COMMON
    ]
    sparse = Schedule(ScheduleType.CRON, cron_expression="0 0 29 2 1", day_match=DayMatch.AND)
    rows.append(_row("next fire, 29 Feb on a Monday", _next(sparse, 7000), "", floor))
    rows.append(_row("next fire, asked by the next of 1,000 jobs", _shared(), "", floor))
    rows.append(_row("next fire, interval", _next(_interval(), 10), "", floor))
    rows.append(_row("read an expression, once", _reading(), "", None))
    rows += [
        _row(f"catch up 30 days of a fire a second, {text}", cost, "", None)
        for text, cost in _catching_up()
    ]
    return rows


def _row(name: str, value: float, note: str, floor: float | None) -> Row:
    ratio = None if floor is None else round(value / floor, 2)
    row: Row = {"name": name, "unit": "µs", "value": round(value, 2)}
    row |= {"floor": None if floor is None else round(floor, 2), "ratio": ratio, "note": note}
    return row


def _common(text: str, name: str, years: int) -> tuple[float, str]:
    schedule = Schedule(ScheduleType.CRON, cron_expression=text, timezone=name)
    return _next(schedule, years), _others(text, name)


def _next(schedule: Schedule, years: int) -> float:
    return _cost(lambda at: next_fire(schedule, at), _moments(years))


def _others(text: str, name: str) -> str:
    """What the same question costs elsewhere, object and all: neither keeps a compiled form."""
    moments = [at.astimezone(zone(name)._rules) for at in _moments(10)[:100]]  # noqa: SLF001
    theirs = _cost(lambda at: next(CronSim(text, at)), moments)
    seconds_first = len(text.split()) == 6
    croniters = _cost(
        lambda at: croniter(text, at, second_at_beginning=seconds_first).get_next(datetime), moments
    )
    return f"croniter {croniters:,.0f}, cronsim {theirs:,.0f}"


def _shared() -> float:
    schedule = Schedule(ScheduleType.CRON, cron_expression="0 0 * * *", timezone="Europe/Berlin")
    return _cost(lambda at: next_fire(schedule, at), [START] * ASKED)


def _interval() -> Schedule:
    return Schedule(ScheduleType.INTERVAL, interval_seconds=90, start_at=START)


def _reading() -> float:
    texts = [f"{minute} {hour} * * 1-5" for minute in range(60) for hour in range(4)]

    def read(text: str) -> None:
        parse.__wrapped__(text, DayMatch.OR)

    return _cost(read, texts)


def _catching_up() -> list[tuple[str, float]]:
    late = CatchUpPolicy(CatchUp.LATEST)
    now = START + timedelta(days=200)
    by_clock = Schedule(ScheduleType.CRON, cron_expression="* * * * * *", catch_up=late)
    by_time = Schedule(ScheduleType.INTERVAL, interval_seconds=1, start_at=START, catch_up=late)
    since = now - timedelta(days=30)
    return [
        (text, _cost(partial(catch_up, schedule, since), [now] * 50))
        for text, schedule in (("cron", by_clock), ("interval", by_time))
    ]


def _moments(years: int) -> list[datetime]:
    random = Random(years)  # noqa: S311
    return [START + timedelta(seconds=random.randrange(years * 31_557_600)) for _ in range(ASKED)]


def _cost(call: Callable[[T], object], given: Sequence[T]) -> float:
    """Microseconds per call, after a round that fills what is filled only once."""
    rounds = []
    for _ in range(ROUNDS + 1):
        started = perf_counter()
        for each in given:
            call(each)
        rounds.append((perf_counter() - started) / len(given) * 1e6)
    return min(rounds[1:])
