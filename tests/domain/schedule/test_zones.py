"""Zones as stretches of constant offset, against the raw database."""

from datetime import UTC, datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from lamplighter.domain.errors import InvalidSchedule
from lamplighter.domain.schedule.times import DAY
from lamplighter.domain.schedule.zones import PROBE, Zone, zone, zone_names
from tests.domain.schedule.raw_zones import END, changes, raw

DISTINCT = sorted({raw(name): name for name in sorted(zone_names())}.values())


def expected(name: str) -> list[tuple[int, int, int]]:
    return [(each.at, each.before, each.after) for each in changes(name) if 0 <= each.at < END]


def year(utc: int) -> int:
    return datetime.fromtimestamp(utc, UTC).year


def found(name: str) -> list[tuple[int, int, int]]:
    return [
        (segment.end, segment.offset, segment.after)
        for segment in zone(name).segments(-1, END)
        if segment.offset != segment.after and 0 <= segment.end < END
    ]


def test_no_offset_ever_lasted_shorter_than_the_distance_between_probes() -> None:
    spells = [
        later.at - earlier.at
        for name in DISTINCT
        for earlier, later in pairwise(changes(name))
        if earlier.at > -DAY * 366
    ]
    assert min(spells) > PROBE + DAY


def test_every_transition_of_every_zone_is_found_and_no_other() -> None:
    for name in DISTINCT:
        assert found(name) == expected(name), name


def test_the_nights_of_today_are_among_them_though_no_file_lists_them() -> None:
    nights = [each for each in changes("Europe/Berlin") if 2025 <= year(each.at) <= 2026]
    assert [f"{datetime.fromtimestamp(each.at, UTC):%m-%d %H:%M}" for each in nights] == [
        "03-30 01:00",
        "10-26 01:00",
        "03-29 01:00",
        "10-25 01:00",
    ]


def test_beyond_the_list_the_rule_of_the_footer_goes_on() -> None:
    last = Zone("Europe/Berlin").segment(4_102_444_800)  # 2100
    assert (last.offset, last.after) == (3600, 7200)


@pytest.mark.parametrize("name", ["UTC", "Etc/GMT+5", "Asia/Tokyo"])
def test_a_zone_without_transitions_has_none(name: str) -> None:
    assert all(each.before == each.after for each in Zone(name).segments(10**9, 2 * 10**9))


def test_segments_meet_and_know_their_neighbours() -> None:
    for name in ("America/New_York", "Africa/Casablanca", "Australia/Lord_Howe"):
        row = list(Zone(name).segments(0, END))
        for one, next_one in pairwise(row):
            assert one.end == next_one.start
            assert (one.offset, one.after) == (next_one.before, next_one.offset)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("Europe/Berln", "did you mean Europe/Berlin?"),
        ("europe/berlin", "did you mean Europe/Berlin?"),
        ("Mars/Olympus", "use an IANA name"),
        ("localtime", "timezone"),
        ("../../etc/passwd", "timezone"),
        ("/etc/localtime", "timezone"),
        ("", "timezone"),
        ("UTC+2", "there is no time zone 'UTC+2'"),
    ],
)
def test_an_unknown_zone_is_refused_with_a_hint(name: str, hint: str) -> None:
    with pytest.raises(InvalidSchedule, match="timezone") as refusal:
        zone(name)
    assert hint in str(refusal.value)


def test_the_rules_are_the_pinned_ones_and_cover_every_name_there() -> None:
    assert len(zone_names()) > 590
    assert {"UTC", "Europe/Kyiv", "America/Ciudad_Juarez"} <= zone_names()
    assert isinstance(zone("Europe/Kyiv")._rules, ZoneInfo)
