"""A target that was shown and is sent back keeps what was not shown."""

from typing import Any

import pytest

from lamplighter.domain.errors import InvalidJob
from lamplighter.domain.target import redacted, revealed

HTTP = {
    "type": "http",
    "url": "https://example.com",
    "headers": {"Authorization": "Bearer hunter2", "Accept": "text/plain"},
}
COMMAND = {"type": "command", "command": "env", "env": {"TOKEN": "hunter2", "A": {"secret": "a"}}}


def _with(target: dict[str, Any], field: str, **values: object) -> dict[str, Any]:
    shown = redacted(target)
    return shown | {field: shown[field] | values}


@pytest.mark.parametrize("target", [HTTP, COMMAND])
def test_what_was_shown_means_what_is_stored(target: dict[str, object]) -> None:
    shown = redacted(target)
    assert "hunter2" not in str(shown)
    assert revealed(shown, target) == target


def test_a_new_value_takes_the_place_of_the_old_one() -> None:
    new = {**HTTP, "headers": {"Authorization": "Bearer new"}}
    assert revealed(new, HTTP) == new


@pytest.mark.parametrize(
    ("given", "stored", "field"),
    [
        (redacted(HTTP), None, "target.headers.Authorization"),
        (redacted(HTTP), COMMAND, "target.headers.Authorization"),
        (redacted(HTTP) | {"url": "https://evil.example"}, HTTP, "target.headers.Authorization"),
        (redacted(COMMAND) | {"command": "echo $TOKEN"}, COMMAND, "target.env.TOKEN"),
        ({**COMMAND, "env": {"OTHER": "…"}}, COMMAND, "target.env.OTHER"),
        (redacted(COMMAND) | {"grace_seconds": 9}, COMMAND, "target.env.TOKEN"),
        (_with(COMMAND, "env", PATH="/home/me/bin"), COMMAND, "target.env.TOKEN"),
        (_with(COMMAND, "env", A={"secret": "b"}), COMMAND, "target.env.TOKEN"),
        (_with(HTTP, "headers", Accept="*/*"), HTTP, "target.headers.Authorization"),
        (_with(HTTP, "headers", Host="evil.example"), HTTP, "target.headers.Authorization"),
        (redacted(HTTP) | {"method": "PUT"}, HTTP, "target.headers.Authorization"),
    ],
)
def test_a_mark_that_stands_for_nothing_known_is_refused(
    given: dict[str, object], stored: dict[str, object] | None, field: str
) -> None:
    with pytest.raises(InvalidJob, match="not shown; give that") as refused:
        revealed(given, stored)
    assert refused.value.field == field


def test_an_ellipsis_elsewhere_is_only_an_ellipsis() -> None:
    target = {"type": "http", "url": "https://example.com", "headers": {"Accept": "…"}, "body": "…"}
    assert revealed(target, None) == target
