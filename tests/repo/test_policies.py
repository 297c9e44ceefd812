"""Each value of every policy has an end-to-end test that is named after it."""

import ast
from enum import Enum
from pathlib import Path
from typing import Final

import pytest

from lamplighter.domain import policy
from lamplighter.domain.policy import (
    CatchUp,
    DstGap,
    DstOverlap,
    EdgeRule,
    OnAmbiguous,
    Overlap,
    TriggerRule,
)

END_TO_END: Final = Path(__file__).parents[1] / "e2e"
POLICIES: Final[dict[type[Enum], str]] = {
    CatchUp: "catch_up",
    DstGap: "dst_gap",
    DstOverlap: "dst_overlap",
    EdgeRule: "upstream_rule",
    OnAmbiguous: "on_ambiguous",
    Overlap: "overlap",
    TriggerRule: "trigger_rule",
}
# What a job is, not what is done with it in a case of doubt.
NO_POLICIES: Final[set[type[Enum]]] = {policy.DayMatch, policy.JobClass, policy.ScheduleType}


def _tests() -> set[str]:
    """Names of the functions that pytest would call: those of a module, or of a class in one."""
    trees = [ast.parse(each.read_text("utf-8")) for each in END_TO_END.rglob("test_*.py")]
    found = [node for tree in trees for node in ast.walk(tree)]
    return {node.name for node in found if isinstance(node, ast.FunctionDef)}


TESTS: Final = _tests()


@pytest.mark.parametrize(
    "name", [f"test_{word}_{value.value}_" for kind, word in POLICIES.items() for value in kind]
)
def test_a_policy_s_value_has_an_end_to_end_test_of_its_name(name: str) -> None:
    assert any(test.startswith(name) for test in TESTS), f"no test {name}… under tests/e2e"


def test_no_policy_is_forgotten() -> None:
    enums = {each for each in vars(policy).values() if isinstance(each, type)}
    assert {each for each in enums if issubclass(each, Enum) and each is not Enum} == (
        POLICIES.keys() | NO_POLICIES
    )
