"""Short ways to write a schedule, an instant and a night."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from lamplighter.domain.policy import DayMatch, Dst, DstGap, DstOverlap, ScheduleType
from lamplighter.domain.schedule import Schedule, fires

YEARS = range(1970, 2038)


def laws(examples: int) -> settings:
    """The same examples on every run: a red build can be had again."""
    return settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


def cron(text: str, zone: str = "UTC", **more: Any) -> Schedule:
    return Schedule(ScheduleType.CRON, cron_expression=text, timezone=zone, **more)


def every(seconds: float, start: str, **more: Any) -> Schedule:
    return Schedule(ScheduleType.INTERVAL, interval_seconds=seconds, start_at=utc(start), **more)


def dst(gap: str = "shift", overlap: str = "first") -> Dst:
    return Dst(gap=DstGap(gap), overlap=DstOverlap(overlap))


def calls(monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> list[tuple[Any, ...]]:
    """A list that grows with every call of that method, which goes on doing its work."""
    seen: list[tuple[Any, ...]] = []
    method = getattr(owner, name)

    def watched(self: object, *given: Any) -> Any:
        seen.append(given)
        return method(self, *given)

    monkeypatch.setattr(owner, name, watched)
    return seen


def both_days() -> dict[str, Any]:
    return {"day_match": DayMatch.AND}


def utc(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def told(schedule: Schedule, after: str, count: int) -> list[str]:
    """The next fires, as `2025-03-30 01:00` (UTC), with seconds only where there are any."""
    return [short(fire) for fire in fires(schedule, utc(after), limit=count)]


def short(fire: datetime) -> str:
    return f"{fire:%Y-%m-%d %H:%M}" + (f":{fire:%S}" if fire.second else "")
