"""The command line finds its commands by name, quickly, and docs/cli.md tells of every one."""

import re
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from lamplighter.cli import main as cli
from lamplighter.settings import as_markdown

PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
CONTEXT = click.Context(cli.main)


def _register(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    point = EntryPoint(name, value, cli.COMMANDS)
    monkeypatch.setattr(cli, "_registered", lambda: {name: point})


def _command(name: str) -> click.Command:
    found = cli.main.get_command(CONTEXT, name)
    assert found, name
    return found


def test_up_is_registered_by_infra() -> None:
    assert cli._registered()["up"].module == "infra.local.command"
    helped = CliRunner().invoke(cli.main, ["--help"])
    assert cli.SUMMARIES["up"] in helped.output


def test_settings_prints_the_page() -> None:
    assert CliRunner().invoke(cli.main, ["settings"]).output == as_markdown()


def test_an_unknown_command_is_refused() -> None:
    refused = CliRunner().invoke(cli.main, ["light"])

    assert refused.exit_code == 2
    assert "No such command 'light'" in refused.output


def test_a_command_whose_package_is_not_shipped_is_absent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("gone", "up"):
        _register(monkeypatch, name, f"not_shipped.command:{name}")

        helped = CliRunner().invoke(cli.main, ["--help"])

        assert helped.exit_code == 0
        assert f"  {name} " not in helped.output
        assert f"No such command '{name}'" in CliRunner().invoke(cli.main, [name]).output


def test_a_registered_thing_that_is_no_command_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _register(monkeypatch, "odd", "os:sep")

    failed = CliRunner().invoke(cli.main, ["odd"])

    assert isinstance(failed.exception, TypeError)


@pytest.mark.parametrize("name", cli.main.list_commands(CONTEXT))
def test_the_line_in_the_list_is_the_first_of_the_command(name: str) -> None:
    first = (_command(name).help or "").partition("\n")[0]
    summary = cli.OWN[name].summary if name in cli.OWN else cli.SUMMARIES.get(name, first)
    assert summary == first


def test_the_list_of_commands_imports_none_of_them() -> None:
    script = (
        "import sys\n"
        "from click.testing import CliRunner\n"
        "from lamplighter.cli.main import main\n"
        "assert CliRunner().invoke(main, ['--help']).exit_code == 0\n"
        "heavy = {'msgspec', 'psycopg', 'boto3', 'valkey', 'confluent_kafka', 'http.client'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def _sections() -> dict[str, str]:
    """The text below each heading, by the command's name or, for shared options, by its title."""
    found = re.split(r"^## (.+)$", PAGE, flags=re.MULTILINE)[1:]
    names = [
        title.strip("`").removeprefix("lamplighter ").partition(" ")[0] for title in found[::2]
    ]
    return dict(zip(names, found[1::2], strict=True))


def _options_on_page(name: str) -> set[str]:
    text = _sections()[name]
    told = set(re.findall(r"^\| `(--[\w-]+)", text, re.MULTILINE))
    for shared in ("Common", "Schedule"):
        if name != shared and f"(#{shared.lower()}-options)" in text:
            told |= _options_on_page(shared)
    return told


def test_every_command_has_a_section_and_every_section_a_command() -> None:
    assert set(_sections()) - {"Common", "Schedule"} == set(cli.main.list_commands(CONTEXT))


@pytest.mark.parametrize("name", cli.main.list_commands(CONTEXT))
def test_a_section_tells_of_every_option_of_its_command_and_of_no_other(name: str) -> None:
    options = [each for each in _params(_command(name)) if isinstance(each, click.Option)]
    assert _options_on_page(name) == {option.opts[0] for option in options}


def _params(command: click.Command) -> list[click.Parameter]:
    """Its own; of a group, those of all its commands."""
    commands = command.commands.values() if isinstance(command, click.Group) else [command]
    return [param for each in commands for param in each.params]


@pytest.mark.parametrize("name", ["submit", "preview"])
def test_examples_in_the_help_stay_on_lines_of_their_own(name: str) -> None:
    helped = CliRunner().invoke(cli.main, [name, "--help"]).output
    examples = [line for line in helped.splitlines() if f"lamplighter {name} --" in line]

    assert "\\b" not in helped
    assert examples
    assert all(line.strip().startswith("lamplighter") for line in examples)
    assert all(line.count("lamplighter") == 1 for line in examples)
