"""Every pair of run states, against an expectation that was written down without the table."""

from itertools import product

import pytest

from lamplighter.domain.states import EDGES, RunState, SkipReason, may_become

# Rows from, columns to, both in this order. X: the edge exists.
EXPECTED = """
    SCHEDULED   . . X X . . . . . . X X
    BLOCKED     X . . . . . . . . . X X
    PARKED      X . . . X . . . . . X X
    RUNNING     X . . . X X X X X X . .
    RETRYING    . . X X . . . . . . X .
    HELD        X . . . . . . X X . X .
    CANCELLING  . . . . . . . X X X X .
    SUCCESS     . . . . . . . . . . . .
    FAILED      . . . . . . . . . . . .
    TIMED_OUT   . . . . . . . . . . . .
    CANCELLED   . . . . . . . . . . . .
    SKIPPED     . . . . . . . . . . . .
"""
ROWS = [line.split() for line in EXPECTED.strip().splitlines()]
NAMES = [row[0] for row in ROWS]
ALLOWED = {
    (old, new)
    for old, *marks in ROWS
    for new, mark in zip(NAMES, marks, strict=True)
    if mark == "X"
}
LIVE = [state for state in RunState if not state.is_final]
FINAL = [state for state in RunState if state.is_final]


@pytest.mark.parametrize(
    ("old", "new"), list(product(RunState, repeat=2)), ids=lambda state: state.name
)
def test_a_pair_of_states_has_an_edge_exactly_where_expected(old: RunState, new: RunState) -> None:
    assert may_become(old, new) == ((old.name, new.name) in ALLOWED)


def test_the_expectation_names_every_state() -> None:
    assert sorted(NAMES) == sorted(state.name for state in RunState)
    assert set(EDGES) == set(RunState)


@pytest.mark.parametrize("state", LIVE, ids=lambda state: state.name)
def test_a_live_state_can_reach_an_end(state: RunState) -> None:
    assert reachable(state) & set(FINAL)


@pytest.mark.parametrize("state", LIVE, ids=lambda state: state.name)
def test_a_live_state_is_reached_from_a_newborn_run(state: RunState) -> None:
    newborn = {RunState.SCHEDULED, RunState.BLOCKED}
    assert state in newborn or any(state in reachable(birth) for birth in newborn)


@pytest.mark.parametrize("state", FINAL, ids=lambda state: state.name)
def test_a_final_state_has_no_way_out(state: RunState) -> None:
    assert not EDGES[state]


def test_only_the_five_dispositions_are_final() -> None:
    names = {state.name for state in FINAL}
    assert names == {"SUCCESS", "FAILED", "TIMED_OUT", "CANCELLED", "SKIPPED"}


def test_no_attempt_starts_after_an_acknowledged_cancel() -> None:
    assert RunState.RUNNING not in reachable(RunState.CANCELLING)
    assert RunState.RUNNING not in reachable(RunState.CANCELLED)


def test_a_running_attempt_is_never_recorded_as_skipped() -> None:
    assert not may_become(RunState.RUNNING, RunState.SKIPPED)
    assert not may_become(RunState.CANCELLING, RunState.SKIPPED)


def test_numbers_and_names_stay_as_they_were_stored() -> None:
    stored = {1: "SCHEDULED", 2: "BLOCKED", 3: "PARKED", 4: "RUNNING", 5: "RETRYING", 6: "HELD",
              7: "CANCELLING", 10: "SUCCESS", 11: "FAILED", 12: "TIMED_OUT", 13: "CANCELLED",
              14: "SKIPPED"}  # fmt: skip
    assert {state.value: state.name for state in RunState} == stored


def test_every_promised_reason_for_a_skip_has_its_number() -> None:
    stored = {1: "overlap", 2: "paused", 3: "missed_window", 4: "upstream_failed",
              5: "upstream_missing", 6: "expired"}  # fmt: skip
    assert {reason.value: reason.name.lower() for reason in SkipReason} == stored


def reachable(state: RunState) -> set[RunState]:
    reached: set[RunState] = set()
    ahead = [state]
    while ahead:
        fresh = EDGES[ahead.pop()] - reached
        reached |= fresh
        ahead.extend(fresh)
    return reached
