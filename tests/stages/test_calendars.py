"""Calendars over HTTP: made, changed, read, and used by a schedule."""

from typing import Any

import pytest

from tests.functions.world import World

HOLIDAYS = {"dates": ["2030-01-03", "2030-01-02"], "windows": []}
SORTED = ["2030-01-02", "2030-01-03"]


@pytest.fixture
def world() -> World:
    return World()


def test_a_calendar_is_kept_shown_and_obeyed(world: World) -> None:
    made = world.call("PUT", "/calendars/holidays", HOLIDAYS)
    shown = {"name": "holidays", "version": 1, "dates": SORTED, "windows": []}
    assert (made.status, made.body) == (200, shown)
    assert world.call("GET", "/calendars/holidays").body == shown

    job_id = world.call.submit(cron_expression="0 9 * * *", calendar="holidays")

    fires = world.call("GET", f"/jobs/{job_id}/fires", query={"count": "1"}).body["fires"]
    assert fires == ["2030-01-04T09:00:00.000Z"]


def test_a_change_is_a_new_version_and_the_same_again_is_not(world: World) -> None:
    world.call("PUT", "/calendars/a", HOLIDAYS)
    again = world.call("PUT", "/calendars/a", {"dates": SORTED})
    changed = world.call("PUT", "/calendars/a", {"dates": SORTED[:1]})
    assert [each.body["version"] for each in (again, changed)] == [1, 2]
    assert changed.headers["etag"] == '"2"'


def test_windows_are_instants_or_wall_times(world: World) -> None:
    windows = [
        {"start": "2030-01-01T01:00:00+01:00", "end": "2030-01-02T00:00:00Z"},
        {"start": "2030-02-01T09:00:00", "end": "2030-02-01T17:30:00"},
    ]
    shown = world.call("PUT", "/calendars/a", {"windows": windows}).body["windows"]
    assert shown == [
        {"start": "2030-01-01T00:00:00.000Z", "end": "2030-01-02T00:00:00.000Z"},
        windows[1],
    ]


def test_each_tenant_has_its_own(world: World) -> None:
    world.call("PUT", "/calendars/b", HOLIDAYS)
    world.call("PUT", "/calendars/a", HOLIDAYS)
    names = [each["name"] for each in world.call("GET", "/calendars").body["calendars"]]
    assert names == ["a", "b"]
    assert world.call("GET", "/calendars", tenant="other").body == {"calendars": []}
    missing = world.call("GET", "/calendars/a", tenant="other")
    assert (missing.status, missing.error["code"]) == (404, "calendar_not_found")


@pytest.mark.parametrize(
    ("name", "body", "field"),
    [
        ("a", {}, "dates"),
        ("a", {"dates": ["2030-02-30"]}, "dates[0]"),
        ("a", {"dates": ["0001-01-01"]}, "dates"),
        ("a", {"windows": [{"start": "2030-01-02T00:00:00Z", "end": "9999-12-31T23:59:59-12:00"}]},
         "windows"),
        ("a", {"windows": [{"start": "2030-01-02T00:00:00Z", "end": "2030-01-01T00:00:00Z"}]},
         "windows"),
        ("a", {"windows": [{"start": "2030-01-02T00:00:00Z", "end": "2030-01-03T00:00:00"}]},
         "windows"),
        ("a", {"days": []}, "days"),
        ("a b", HOLIDAYS, "name"),
        ("x" * 101, HOLIDAYS, "name"),
    ],
)  # fmt: skip
def test_what_makes_no_calendar_is_refused(
    world: World, name: str, body: dict[str, Any], field: str
) -> None:
    refused = world.call("PUT", f"/calendars/{name}", body)
    assert (refused.status, refused.error["field"]) == (422, field)
    assert world.call("GET", "/calendars").body == {"calendars": []}
