"""Every type of target is known, documented, and its examples are true."""

import json
import re
from pathlib import Path

import pytest

from lamplighter.adapters.logs.folder import FolderLogs
from lamplighter.adapters.targets.command.target import NoCommands
from lamplighter.adapters.targets.python import handlers
from lamplighter.adapters.targets.python.target import PythonTarget
from lamplighter.adapters.targets.registry import Registry, all_targets
from lamplighter.domain.errors import InvalidJob
from lamplighter.domain.run import Verdict
from lamplighter.domain.target import SPECS, parse_target
from lamplighter.stages.run import Limits, Runner
from tests.adapters.targets.running import KnownSecrets, claim, command, run_one

PAGE = (Path(__file__).parents[3] / "docs" / "targets.md").read_text(encoding="utf-8")
EXAMPLES = [json.loads(text) for text in re.findall(r"```json\n(.+?)```", PAGE, re.DOTALL)]


def test_every_type_has_a_target() -> None:
    assert list(all_targets()) == list(SPECS)


@pytest.mark.parametrize("kind", SPECS)
def test_every_type_is_documented_with_an_example_and_all_its_fields(kind: str) -> None:
    section = PAGE.split(f"\n## `{kind}`\n")[1].split("\n## ")[0]

    assert any(example["type"] == kind for example in EXAMPLES)
    for field in SPECS[kind].__struct_fields__:
        assert f"`{field}`" in section, f"docs/targets.md does not explain {kind}.{field}"


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example["type"])
def test_every_example_is_accepted(example: dict[str, object]) -> None:
    parse_target(example)


def test_every_built_in_handler_is_documented() -> None:
    for name in handlers._registered:
        if name.startswith("builtin."):
            assert f"`{name}`" in PAGE


def test_a_worker_without_a_target_names_those_it_has() -> None:
    registry = Registry({"python": PythonTarget(handlers.Handlers())})

    with pytest.raises(InvalidJob) as refused:
        registry.find(claim({"type": "command", "command": "ls"}))

    assert refused.value.fix == (
        "pool default runs no command targets, only python; name another pool"
    )


def test_without_a_default_a_job_needs_a_target() -> None:
    with pytest.raises(InvalidJob):
        Registry(all_targets()).find(claim(None))


@pytest.mark.parametrize(
    "document",
    [{}, {"type": "python"}, {"type": "python", "handler": 3}, {"handler": "builtin.noop"},
     {"type": ["python"], "handler": "builtin.noop"}, {"type": "python", "handler": ["x"]},
     {"type": "python", "handler": "builtin.noop", "extra": 1}, {"a": {"b": 1}, "c": 2}],
)  # fmt: skip
def test_a_malformed_document_is_refused_also_where_quick_ones_are_remembered(
    document: dict[str, object],
) -> None:
    registry = Registry(all_targets())
    good = claim({"type": "python", "handler": "builtin.noop"})

    assert registry.find(good).quick
    assert registry.find(good) is registry.find(good)
    with pytest.raises(InvalidJob):
        registry.find(claim(document))


def test_a_worker_without_commands_ends_one_for_good_and_says_why(folder: Path) -> None:
    targets = all_targets() | {"command": NoCommands()}
    runner = Runner(Registry(targets), FolderLogs(folder), KnownSecrets(), Limits())

    outcome = run_one(runner, command("echo hello"))

    assert (outcome.verdict, outcome.retryable, outcome.stdout) == (Verdict.FAILED, False, None)
    assert "in pool default commands are off" in str(outcome.error)
    assert "-c commands=true" in str(outcome.error)
