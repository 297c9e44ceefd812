"""A day of mixed schedules on which people change their minds; then the checker and the preview."""

import random
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec
import pytest

from lamplighter.domain.ids import BY_SCHEDULE
from tests.e2e.wound.staff import SLOW
from tests.e2e.wound.world import World, Worlds

START: Final = datetime(2026, 5, 11, 0, 1, tzinfo=UTC)
MIDNIGHT: Final = START.replace(minute=0)
DAY: Final = timedelta(hours=24)
QUARTER: Final = timedelta(minutes=15)
ZONES: Final = ("UTC", "Europe/Berlin", "Asia/Kolkata", "America/New_York")
CRONS: Final = ("0 * * * *", "30 */2 * * *", "*/30 8-17 * * 1-5", "0 9,12,18 * * *", "15 4 * * *")
BUSES: Final = [
    "streams",
    pytest.param("kafka", marks=[pytest.mark.kafka, pytest.mark.xdist_group("kafka")]),
]


class Stretch(msgspec.Struct):
    """A time in which a job had this schedule."""

    schedule: dict[str, Any]
    since: datetime
    until: datetime


class Person:
    """Submits and changes, at moments and in ways that a seed decides."""

    def __init__(self, world: World, seed: int) -> None:
        self.world = world
        self.stretches: dict[str, list[Stretch]] = {}
        self.asked: dict[str, int] = {}
        self._dice = random.Random(seed)  # noqa: S311 - the same day every time
        self._end = START + DAY

    def submit(self, schedule: dict[str, Any], **fields: Any) -> str:
        job = self.world.submit(**schedule, priority=self._dice.randint(1, 10), **fields)
        self.stretches[job] = [Stretch(schedule, self.world.now, self._end)]
        return job

    def cron(self) -> dict[str, Any]:
        expression, zone = self._dice.choice(CRONS), self._dice.choice(ZONES)
        return {"schedule_type": "CRON", "cron_expression": expression, "timezone": zone}

    def interval(self) -> dict[str, Any]:
        return {
            "schedule_type": "INTERVAL",
            "interval_seconds": QUARTER.total_seconds() * self._dice.randint(2, 24),
            "start_at": self._quarter().isoformat(),
        }

    def once(self) -> dict[str, Any]:
        return {"schedule_type": "FUTURE", "schedule_time": self._quarter().isoformat()}

    def some_day(self, count: int) -> list[datetime]:
        """Moments at which nothing fires: whoever changes a schedule then, changes it clearly."""
        return [self._quarter(every=4) + timedelta(minutes=6) for _ in range(count)]

    def _quarter(self, every: int = 1) -> datetime:
        """Of an hour. Every moment at which something happens costs a turn of everybody."""
        return MIDNIGHT + QUARTER * every * self._dice.randint(1, 92 // every)

    def edit(self, job: str) -> None:
        last, now, schedule = self.stretches[job][-1], self.world.now, self.cron()
        self.world.ask("PUT", f"/jobs/{job}", schedule)
        last.until = now
        self.stretches[job].append(Stretch(schedule, now, self._end))

    def cancel(self, job: str) -> None:
        self.world.ask("DELETE", f"/jobs/{job}")
        self.stretches[job][-1].until = self.world.now

    def run_now(self, job: str) -> None:
        self.world.ask("POST", f"/jobs/{job}/runNow")
        self.asked[job] = self.asked.get(job, 0) + 1

    def pause(self, job: str) -> None:
        self.world.ask("POST", f"/jobs/{job}/pause")
        later = self.world.now + timedelta(hours=1)
        self.world.at(later, lambda: self.world.ask("POST", f"/jobs/{job}/resume"))


def _people(person: Person) -> None:
    """Everything of the morning: plain jobs, failing ones, workflows, slow ones, limited ones."""
    plain = [person.submit(person.cron()) for _ in range(32)]
    plain += [person.submit(person.interval()) for _ in range(16)]
    once = [person.submit(person.once()) for _ in range(50)]
    _failing(person)
    _waiting(person, plain[:10], once[:10])
    _crowded(person)
    ways = (person.edit, person.pause, person.cancel, person.run_now)
    for number, moment in enumerate(person.some_day(36)):
        # Each job is changed in one way only, and none that others wait for.
        way, job = ways[number % 4], plain[10 + number]
        person.world.at(moment, lambda way=way, job=job: way(job))  # type: ignore[misc]
    for moment in person.some_day(20):
        person.world.at(moment, lambda: person.submit({"schedule_type": "IMMEDIATE"}))


def _failing(person: Person) -> None:
    fail = {"type": "python", "handler": "builtin.fail"}
    for attempts in (1, 2, 9):
        for _ in range(4):
            person.submit(person.cron(), target=fail, payload={"attempts": attempts}, max_retries=2)


def _waiting(person: Person, recurring: list[str], once: list[str]) -> None:
    rules = ("all_success", "all_done", "one_success", "none_failed")
    for number, job in enumerate([*recurring, *once]):
        first = person.world.submit(after=[job], trigger_rule=rules[number % 4])
        person.world.submit(after=[job, first])


def _crowded(person: Person) -> None:
    """Runs that are still going on when the next one is due."""
    slow = {"target": {"type": "python", "handler": SLOW}, "pool": "tasks"}
    often = {"schedule_type": "CRON", "cron_expression": "*/30 6-9 * * *"}
    for overlap in ("allow", "forbid", "queue", "replace"):
        person.submit(often, **slow, payload={"seconds": 2700}, overlap=overlap)
    for _ in range(4):
        limits = {"concurrency_key": "scarce", "max_concurrency": 2, "overlap": "allow"}
        person.submit(person.interval(), **slow, payload={"seconds": 600}, **limits)
        person.submit(person.cron(), ordering_key="in line", overlap="allow")


@pytest.mark.parametrize("bus", BUSES)
def test_a_day_of_mixed_schedules_keeps_every_promise(worlds: Worlds, bus: str) -> None:
    world = worlds(START, bus)
    person = Person(world, seed=4)
    _people(person)

    world.walk(START + DAY)
    world.walk(hours=1)  # what began late in the day, or waits for it, ends

    report = world.verify()
    assert report.runs > 700
    assert {job: _fires(world, job) for job in person.stretches} == {
        job: sum(_previewed(world, each) for each in stretches)
        for job, stretches in person.stretches.items()
    }
    assert {job: _by_hand(world, job) for job in person.asked} == person.asked


def _fires(world: World, job: str) -> int:
    runs = [run for run in world.runs(job) if run.origin == BY_SCHEDULE]
    return sum(run.missed_count for run in runs if run.fire_at <= START + DAY)


def _by_hand(world: World, job: str) -> int:
    return sum(run.origin != BY_SCHEDULE for run in world.runs(job))


def _previewed(world: World, stretch: Stretch) -> int:
    if stretch.schedule["schedule_type"] in {"IMMEDIATE", "FUTURE"}:
        return 1
    return len(world.preview(stretch.since, stretch.until, **stretch.schedule))
