"""The command line finds its commands where they are registered."""

from importlib.metadata import EntryPoint

import pytest
from click.testing import CliRunner

from lamplighter.cli import main as cli
from lamplighter.settings import as_markdown


def _register(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    point = EntryPoint(name, value, cli.COMMANDS)
    monkeypatch.setattr(cli, "_registered", lambda: {name: point})


def test_up_is_registered_by_infra() -> None:
    assert cli._registered()["up"].module == "infra.local.command"
    helped = CliRunner().invoke(cli.main, ["--help"])
    assert "Start every service on this machine" in helped.output


def test_settings_prints_the_page() -> None:
    assert CliRunner().invoke(cli.main, ["settings"]).output == as_markdown()


def test_an_unknown_command_is_refused() -> None:
    refused = CliRunner().invoke(cli.main, ["light"])

    assert refused.exit_code == 2
    assert "No such command 'light'" in refused.output


def test_a_command_whose_package_is_not_shipped_is_absent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _register(monkeypatch, "gone", "not_shipped.command:gone")

    assert CliRunner().invoke(cli.main, ["--help"]).exit_code == 0
    assert "No such command 'gone'" in CliRunner().invoke(cli.main, ["gone"]).output


def test_a_registered_thing_that_is_no_command_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _register(monkeypatch, "odd", "os:sep")

    failed = CliRunner().invoke(cli.main, ["odd"])

    assert isinstance(failed.exception, TypeError)
