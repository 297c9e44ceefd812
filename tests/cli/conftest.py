"""A command line that speaks to a world of its own."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from click.testing import CliRunner, Result

from lamplighter.cli import fields
from lamplighter.cli.main import main
from tests.cli.serving import Served, serving

Cli = Callable[..., Result]


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Served:
    made = Served()
    monkeypatch.setattr(fields, "now", made.ledger.now)
    return made


@pytest.fixture
def url(world: Served) -> Iterator[str]:
    with serving(world.answer) as found:
        yield found


@pytest.fixture
def cli(url: str) -> Cli:
    """Types a command; it must end with `exits`."""

    def type_in(*words: str, exits: int = 0, **more: Any) -> Result:
        runner = CliRunner(env={"LAMPLIGHTER_URL": url})
        result = runner.invoke(main, list(words), **more)
        assert result.exit_code == exits, (result.output, result.exception)
        return result

    return type_in
