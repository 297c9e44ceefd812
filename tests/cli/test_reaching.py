"""Where the command line looks for the API, and what it says when nobody is there."""

import json
import socket
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from lamplighter.cli.main import main
from lamplighter.cli.stack import api_url, use_stack
from lamplighter.settings import load
from tests.cli.serving import Served, serving


def _type(*words: str, **environment: str) -> Result:
    return CliRunner(env={"LAMPLIGHTER_URL": None, **environment}).invoke(main, list(words))


def _stack(folder: Path, **said: Any) -> None:
    state = {"url": "http://127.0.0.1:1", "pid": 1, "components": [], "services": [], **said}
    (folder / "stack.json").write_text(json.dumps(state), encoding="utf-8")


def test_what_was_typed_goes_before_the_variable_and_that_before_the_stack(tmp_path: Path) -> None:
    _stack(tmp_path, url="http://stack")
    variables = {"LAMPLIGHTER_URL": "http://variable"}
    here = {"LAMPLIGHTER_DATA_DIR": str(tmp_path)}

    assert api_url("http://typed", str(tmp_path), variables) == "http://typed"
    assert api_url(None, str(tmp_path), variables) == "http://stack"
    assert api_url(None, None, variables | here) == "http://variable"
    assert api_url(None, None, here) == "http://stack"
    assert api_url(None, None, {"LAMPLIGHTER_DATA_DIR": "/no"}) == "http://127.0.0.1:8080"


def test_a_folder_without_a_stack_leads_to_no_other(tmp_path: Path) -> None:
    done = _type("cancel", "x", "--data", str(tmp_path), LAMPLIGHTER_URL="http://production")

    assert done.exit_code == 1
    assert f"No stack runs in {tmp_path}." in done.stderr


def test_the_api_of_a_running_stack_is_found_by_its_data_folder(
    world: Served, url: str, tmp_path: Path
) -> None:
    world.call.submit(name="found")
    _stack(tmp_path, url=url)

    assert "found" in _type("list", "--data", str(tmp_path)).stdout


def test_when_nobody_answers_it_says_where_it_looked() -> None:
    with socket.socket() as taken:  # bound, but nobody listens
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        done = _type("list", "--url", url)

    assert done.exit_code == 3
    assert f"Nothing answers at {url} (Connection refused). Is `make up` running?" in done.stderr


def test_the_key_in_the_variable_is_shown_to_the_api(world: Served, url: str) -> None:
    _type("list", "--url", url, LAMPLIGHTER_API_KEY="lamp_hush")
    _type("list", "--url", url)

    assert [each.get("Authorization") for each in world.headers] == ["Bearer lamp_hush", None]


def test_a_gateway_that_wants_a_key_is_understood() -> None:
    refusal = {"headers": {"content-type": "application/json"}, "body": '{"message":"Forbidden"}'}
    with serving(lambda *_: {"statusCode": 403, **refusal}) as url:
        done = _type("list", "--url", url)

    assert done.exit_code == 1
    assert "LAMPLIGHTER_API_KEY" in done.stderr


def test_somebody_else_at_that_address_is_told_apart() -> None:
    page = {"statusCode": 200, "headers": {"content-type": "text/html"}, "body": "<html>"}
    with serving(lambda *_: page) as url:
        done = _type("list", "--url", url)

    assert done.exit_code == 1
    assert "is not Lamplighter: status 200, text/html" in done.stderr


def test_an_error_without_our_words_is_an_error() -> None:
    proxy = {"statusCode": 502, "headers": {"content-type": "application/json"}, "body": "{}"}
    with serving(lambda *_: proxy) as url:
        done = _type("list", "--url", url)

    assert done.exit_code == 1
    assert "The answer was status 502." in done.stderr


def test_an_api_may_live_below_a_path(world: Served) -> None:
    world.call.submit(name="deep")

    def below(method: str, target: str, *rest: Any) -> Any:
        assert target.startswith("/prod/jobs")
        return world.answer(method, target.removeprefix("/prod"), *rest)

    with serving(below) as url:
        assert "deep" in _type("list", "--url", f"{url}/prod/").stdout


@pytest.mark.parametrize(
    "url",
    ["ftp://host", "http://", "http://:80", "http://h:99999", "http://[::1", "http://a b",
     "http://a\x07"],
)  # fmt: skip
def test_what_is_no_address_is_refused(url: str) -> None:
    done = _type("list", "--url", url)

    assert done.exit_code == 2
    assert "is no address" in done.stderr


def test_what_the_api_says_in_an_error_is_told_whole_and_moves_no_cursor() -> None:
    error = {"code": "odd", "message": "no \x1b[2J", "field": "name\x07", "hint": "Try \u202e."}
    said = {
        "statusCode": 422,
        "headers": {"content-type": "application/json"},
        "body": json.dumps({"error": error}),
    }
    with serving(lambda *_: said) as url:
        done = _type("list", "--url", url)

    assert done.exit_code == 1
    assert done.stderr.splitlines() == [
        "Error: no \\x1b[2J",
        "  field: name\\x07",
        "  hint: Try \\u202e.",
    ]


def test_a_state_file_that_is_broken_is_named(tmp_path: Path) -> None:
    (tmp_path / "stack.json").write_text("{", encoding="utf-8")

    done = _type("list", "--data", str(tmp_path))

    assert done.exit_code == 1
    assert "cannot read" in done.stderr
    assert "stack.json" in done.stderr


def test_the_variable_of_the_command_line_stops_no_service() -> None:
    assert load({"LAMPLIGHTER_URL": "http://127.0.0.1:8080"}).url == "http://127.0.0.1:8080"


def test_a_stack_lends_its_services_where_no_deployment_is_named(tmp_path: Path) -> None:
    services = [
        {"name": "postgres", "url": "postgresql://p", "pid": 1},
        {"name": "valkey", "url": "valkey://v", "pid": None},
        {"name": "kafka", "url": "127.0.0.1:9092", "pid": 2},
    ]
    _stack(tmp_path, services=services)
    empty: dict[str, str] = {}
    deployed = {"LAMPLIGHTER_VALKEY_URL": "valkey://cloud", "LAMPLIGHTER_DATA_DIR": str(tmp_path)}
    typed = dict(deployed)

    use_stack(str(tmp_path), empty)
    use_stack(None, deployed)
    use_stack(str(tmp_path), typed)

    assert empty == {
        "LAMPLIGHTER_DATABASE_URL": "postgresql://p",
        "LAMPLIGHTER_VALKEY_URL": "valkey://v",
        "LAMPLIGHTER_KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:9092",
        "LAMPLIGHTER_BUS": "kafka",
    }
    assert deployed["LAMPLIGHTER_VALKEY_URL"] == "valkey://cloud"
    assert "LAMPLIGHTER_BUS" not in deployed
    assert typed["LAMPLIGHTER_VALKEY_URL"] == "valkey://v"
    with pytest.raises(click.ClickException, match="No stack runs in"):
        use_stack(str(tmp_path / "other"), {})
