"""Where commands are off, neither who accepts jobs nor who runs them takes one."""

from collections.abc import Iterator

import pytest

from lamplighter import wiring
from lamplighter.adapters.targets.command import privacy
from lamplighter.domain.errors import InvalidJob
from tests.adapters.targets.running import command, run_one

COMMAND = {"type": "command", "command": "echo hello"}


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> Iterator[pytest.MonkeyPatch]:
    monkeypatch.setenv("LAMPLIGHTER_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")
    monkeypatch.setenv("LAMPLIGHTER_VALKEY_URL", "valkey://127.0.0.1:1")
    monkeypatch.setenv("LAMPLIGHTER_DATA_DIR", str(tmp_path))
    wiring.forget()
    yield monkeypatch
    wiring.forget()


def test_by_default_commands_are_accepted_and_run(environment: pytest.MonkeyPatch) -> None:
    wiring.desk().check_target(COMMAND)

    assert run_one(wiring.runner(), command("echo hello")).stdout == "hello\n"


def test_where_they_are_off_nobody_takes_one(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("LAMPLIGHTER_COMMANDS", "false")
    wiring.forget()

    with pytest.raises(InvalidJob, match="commands are off"):
        wiring.desk().check_target(COMMAND)
    wiring.desk().check_target({"type": "python", "handler": "builtin.echo"})
    assert "commands are off" in str(run_one(wiring.runner(), command("echo hello")).error)


def test_a_task_of_ecs_that_runs_commands_hides_from_them(environment: pytest.MonkeyPatch) -> None:
    hidden: list[bool] = []
    environment.setattr(privacy, "keep_to_oneself", lambda: hidden.append(True))
    wiring.runner()
    assert not hidden

    environment.setenv("ECS_CONTAINER_METADATA_URI_V4", "http://169.254.170.2/v4/1")
    wiring.forget()
    wiring.runner()

    assert hidden == [True]
