"""A target that was shown and is sent back keeps what was not shown."""

import pytest

from lamplighter.domain.errors import InvalidJob
from lamplighter.domain.target import redacted, revealed

HTTP = {
    "type": "http",
    "url": "https://example.com",
    "headers": {"Authorization": "Bearer hunter2", "Accept": "text/plain"},
}
COMMAND = {"type": "command", "command": "env", "env": {"TOKEN": "hunter2", "A": {"secret": "a"}}}


@pytest.mark.parametrize("target", [HTTP, COMMAND])
def test_what_was_shown_means_what_is_stored(target: dict[str, object]) -> None:
    shown = redacted(target)
    assert "hunter2" not in str(shown)
    assert revealed(shown, target) == target


def test_the_rest_may_change_beside_it() -> None:
    shown = redacted(HTTP) | {"method": "PUT", "headers": {"Authorization": "…", "Accept": "*/*"}}
    headers = {"Authorization": "Bearer hunter2", "Accept": "*/*"}
    assert revealed(shown, HTTP) == {**HTTP, "method": "PUT", "headers": headers}


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
