"""Which components there are, and what they are told."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from infra.local.roster import Member, Roster, environment, members, variables
from lamplighter.settings import Bus, LogLevel, Settings, load


def _names(pools: str, workers: int) -> list[str]:
    return [each.name for each in members(Settings(pools=pools), workers)]


def test_every_pool_has_its_workers() -> None:
    assert _names("default=1,tasks=1,eu-west=1", 2) == [
        "gateway", "watcher-1", "watcher-2",
        "executor-1", "executor-2", "worker-1", "worker-2", "worker-eu-west-1", "worker-eu-west-2",
        "recorder-1", "recorder-2", "resolver",
    ]  # fmt: skip
    assert [each.pool for each in members(Settings(pools="tasks=1"), 1)][3:4] == ["tasks"]


def test_the_settings_arrive_as_they_were() -> None:
    given = Settings(
        database_url="postgresql://me:a b@host/x",
        bus=Bus.KAFKA,
        log_level=LogLevel.DEBUG,
        allow_private_addresses=True,
        places=3,
        data_dir="/here",
    )

    assert load(variables(given)) == given
    assert variables(Settings()) == {}


def test_all_is_inherited_but_of_ours_the_settings_count() -> None:
    inherited = {"PATH": "/bin", "AWS_REGION": "eu-west-1", "LAMPLIGHTER_POOL": "elsewhere"}

    told = environment(Settings(places=3), inherited)

    assert told == {
        "PATH": "/bin",
        "AWS_REGION": "eu-west-1",
        "LAMPLIGHTER_PLACES": "3",
        "LAMPLIGHTER_POOL": "default",
    }


def test_a_default_that_was_asked_for_is_not_taken_for_silence(folder: Path) -> None:
    asked = {"LAMPLIGHTER_ALLOW_PRIVATE_ADDRESSES": "false", "LAMPLIGHTER_BUS": "kafka"}
    # As after `--bus streams`: what was typed goes over what was set.
    told = environment(msgspec.structs.replace(load(asked), bus=Bus.STREAMS), asked)

    assert told == {"LAMPLIGHTER_ALLOW_PRIVATE_ADDRESSES": "false", "LAMPLIGHTER_BUS": "streams"}
    roster = Roster(folder, told=told, lock=0, port=1)
    assert roster.component(Member("recorder"))._command.environment == told


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [(["lantern"], "no component 'lantern'"), ([], "required: name")],
)
def test_a_component_that_does_not_exist_is_refused(arguments: list[str], complaint: str) -> None:
    program = [sys.executable, "-m", "infra.local.component", *arguments]

    refused = subprocess.run(
        program, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[3]
    )

    assert refused.returncode == 2
    assert complaint in refused.stderr
