"""The examples of docs/semantics.md, run: the page cannot say what the code does not do."""

import re
from datetime import datetime, timedelta
from pathlib import Path
from uuid import UUID

import msgspec
import pytest

from lamplighter.domain.errors import InvalidSchedule
from lamplighter.domain.schedule import (
    Calendar,
    Missed,
    Schedule,
    catch_up,
    fires,
    jitter_ms,
    transitions,
    validate,
)
from tests.domain.schedule.helpers import cron, utc

PAGE = (Path(__file__).parents[3] / "docs" / "semantics.md").read_text("utf-8")
NOW = utc("2025-01-01T00:00")


def blocks(kind: str) -> list[list[str]]:
    found = re.findall(rf"^```{kind}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return [block.strip().splitlines() for block in found]


def read(line: str) -> Schedule:
    return msgspec.json.decode(line, type=Schedule)


def moment(text: str) -> datetime:
    return utc(text.replace("Z", "+00:00"))


@pytest.mark.parametrize("block", blocks("fires"))
def test_fires(block: list[str]) -> None:
    schedule, *lines = block
    calendars = [
        msgspec.json.decode(line.removeprefix("calendar "), type=Calendar)
        for line in lines
        if line.startswith("calendar ")
    ]
    (after,) = [line.removeprefix("after ") for line in lines if line.startswith("after ")]
    expected = [moment(line.split()[0]) for line in lines if line[0].isdigit()]
    more = 1 if "no more" in lines else 0
    found = list(
        fires(read(schedule), moment(after), limit=len(expected) + more, calendars=calendars)
    )
    assert found == expected


@pytest.mark.parametrize("block", blocks("refused"))
def test_refused(block: list[str]) -> None:
    schedule, words = block
    with pytest.raises(InvalidSchedule) as refusal:
        validate(read(schedule), now=NOW)
    assert str(refusal.value) == words


@pytest.mark.parametrize("block", blocks("submitted"))
def test_submitted(block: list[str]) -> None:
    schedule, at, *lines = block
    now = moment(at.removeprefix("at "))
    settled = validate(read(schedule), now=now)
    expected = [moment(line.split()[0]) for line in lines if line[0].isdigit()]
    assert list(fires(settled, now - timedelta(days=1), limit=len(expected) + 1)) == expected


@pytest.mark.parametrize("block", blocks("jitter"))
def test_jitter(block: list[str]) -> None:
    schedule, job, *lines = block
    waits = timedelta(milliseconds=jitter_ms(UUID(job.removeprefix("job ")), read(schedule)))
    for line in lines:
        _, fire, _, due = line.split()
        assert list(fires(read(schedule), moment(fire) - timedelta(seconds=1), limit=1)) == [
            moment(fire)
        ]
        assert (moment(fire) + waits).time().isoformat("milliseconds") == due


@pytest.mark.parametrize("block", blocks("catch-up"))
def test_catch_up(block: list[str]) -> None:
    schedule, span, *lines = block
    start, now = span.removeprefix("from ").split(" to ")
    settled = catch_up(read(schedule), moment(start), moment(now))
    assert lines == [
        *(missed(each) for each in settled.missed),
        *(f"run {brief(each)}" for each in settled.run),
        f"next {brief(settled.next_fire_at or NOW)}",
    ]


def missed(row: Missed) -> str:
    return f"missed {brief(row.from_fire)} … {brief(row.to_fire)}, {row.count} fires"


def brief(fire: datetime) -> str:
    return f"{fire:%Y-%m-%dT%H:%M}" + (f":{fire:%S}Z" if fire.second else "Z")


def test_the_preview_is_quoted_as_it_is() -> None:
    schedule = cron("30 2 * * *", "Europe/Berlin")
    (night,) = transitions(schedule, utc("2025-03-01"), utc("2025-04-01"))
    assert night.sentence in " ".join(PAGE.split())


def test_the_page_has_an_example_for_every_part() -> None:
    assert len(blocks("fires")) >= 15
    assert len(blocks("refused")) >= 7
    assert len(blocks("submitted")) >= 1
    assert len(blocks("jitter")) >= 1
    assert len(blocks("catch-up")) >= 3
