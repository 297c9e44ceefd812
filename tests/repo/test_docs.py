"""What the documents say to type can be typed: links, commands, options and variables exist."""

import re
from pathlib import Path

import click
import pytest

from infra.aws.deploy import cdk
from infra.aws.deploy.command import choices
from lamplighter.cli.main import main
from lamplighter.settings import fields

ROOT = Path(__file__).parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "infra/aws/README.md", "infra/aws/TRAPS.md")),
    *sorted((ROOT / "docs").glob("*.md")),
]
TYPED = [ROOT / "README.md", *(ROOT / "docs" / f"{name}.md" for name in ("deploy", "operations"))]
# Read by the command line alone.
_OF_THE_COMMAND_LINE = {"LAMPLIGHTER_URL", "LAMPLIGHTER_API_KEY"}


def _named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _anchors(path: Path) -> set[str]:
    """As GitHub makes them: lower case, without punctuation, a dash for each space."""
    heads = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=_named)
def test_every_link_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)\s]+)\)", page.read_text(encoding="utf-8"))

    for link in links:
        target, _, anchor = link.partition("#")
        path = (page.parent / target).resolve() if target else page
        assert path.exists(), link
        assert not anchor or anchor in _anchors(path), link


def _typed(page: Path) -> list[list[str]]:
    """Every `lamplighter …`: in blocks a line with its continuations, in text what is quoted."""
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    blocks = re.findall(r"^ {4,}(.*)$", text, re.MULTILINE)
    quoted = re.findall(r"`([^`\n]+)`", text)
    found = [
        re.split(r"#|\)|;|\|", match)[0].split()
        for line in [*blocks, *quoted]
        for match in re.findall(r"(?:^|[\s(/])lamplighter ([a-z][a-z-]*\b[^`]*)", line)
    ]
    commands = main.list_commands(click.Context(main))
    return [words for words in found if words[0] in commands or "--" in " ".join(words)]


def _options(words: list[str]) -> set[str]:
    command = main.get_command(click.Context(main), words[0])
    assert command, words
    if isinstance(command, click.Group):
        assert words[1] in command.commands, words
        command = command.commands[words[1]]
    return {name for each in command.params for name in each.opts}


@pytest.mark.parametrize("page", TYPED, ids=_named)
def test_every_command_that_is_shown_has_these_options(page: Path) -> None:
    typed = _typed(page)

    assert typed
    for words in typed:
        asked = {word.partition("=")[0] for word in words[1:] if re.match(r"--?[a-z]", word)}
        assert asked <= _options(words), words


@pytest.mark.parametrize("page", PAGES, ids=_named)
def test_every_choice_that_is_shown_is_one(page: Path) -> None:
    shown = set(re.findall(r"-c ([a-z_]+)=", page.read_text(encoding="utf-8")))

    assert shown <= choices() | {"name"}


@pytest.mark.parametrize("page", TYPED, ids=_named)
def test_every_variable_that_is_shown_is_a_setting(page: Path) -> None:
    shown = set(re.findall(r"LAMPLIGHTER_[A-Z_]+", page.read_text(encoding="utf-8")))

    assert shown <= {field.variable for field in fields()} | _OF_THE_COMMAND_LINE


@pytest.mark.parametrize("page", PAGES, ids=_named)
def test_the_cdks_command_line_is_the_one_that_deploys(page: Path) -> None:
    for version in re.findall(r"aws-cdk@([\d.]+\d)", page.read_text(encoding="utf-8")):
        assert version == cdk.VERSION
