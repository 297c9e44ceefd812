"""Who goes first: scores, aging, turns, shares."""

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.domain.ordering import (
    DEFAULT_SHARES,
    LEVEL_MS,
    PRIORITIES,
    Passes,
    aged_score,
    priorities_of,
    score,
    share_out,
    strides,
    take_turns,
)
from lamplighter.domain.policy import JobClass

NOW = 1_800_000_000_000
MINUTE = 60_000
STRIDES = strides(DEFAULT_SHARES)
moments = st.integers(NOW - 60 * MINUTE, NOW)
priorities = st.sampled_from(PRIORITIES)


def test_a_score_is_priority_and_time() -> None:
    assert score(3, NOW) == 3_000_000 + NOW
    assert score(5, NOW) == score(4, NOW + LEVEL_MS)


@pytest.mark.parametrize(
    ("minutes", "levels"), [(0, 0), (5, 0), (5.99, 0), (6, 1), (6.99, 1), (7, 2), (65, 60)]
)
def test_from_five_minutes_on_a_run_rises_a_level_a_minute(minutes: float, levels: int) -> None:
    due = NOW - round(minutes * MINUTE)
    assert score(9, due) - aged_score(9, due, NOW) == levels * LEVEL_MS


def test_what_is_not_due_has_not_aged() -> None:
    assert aged_score(5, NOW + MINUTE, NOW) == score(5, NOW + MINUTE)


@given(priorities, moments, moments)
def test_at_one_priority_the_order_never_changes(priority: int, one: int, other: int) -> None:
    aged = aged_score(priority, one, NOW) < aged_score(priority, other, NOW)
    assert aged == (one < other)


@given(priorities, moments)
def test_a_run_only_ever_rises(priority: int, due: int) -> None:
    scores = [aged_score(priority, due, NOW + minute * MINUTE) for minute in range(30)]
    assert all(later <= earlier for earlier, later in pairwise(scores))


def test_classes_part_the_priorities() -> None:
    parts = [priority for each in JobClass for priority in priorities_of(each)]
    assert parts == list(PRIORITIES)


def test_turns_go_round() -> None:
    assert take_turns([3, 1, 2], 6) == [0, 1, 2, 0, 2, 0]
    assert take_turns([3, 1, 2], 4) == [0, 1, 2, 0]
    assert take_turns([0, 2], 9) == [1, 1]
    assert take_turns([], 9) == []
    assert take_turns([5], 0) == []


@given(st.lists(st.integers(0, 9), max_size=8), st.integers(0, 60))
def test_turns_use_every_place_and_favour_nobody(waiting: list[int], places: int) -> None:
    turns = take_turns(waiting, places)
    taken = Counter(turns)
    assert len(turns) == min(places, sum(waiting))
    assert all(taken[tenant] <= waiting[tenant] for tenant in taken)
    # Whoever still waits has had at most one turn less than anybody else.
    left = [taken[tenant] for tenant, runs in enumerate(waiting) if taken[tenant] < runs]
    assert all(max(taken.values(), default=0) - had <= 1 for had in left)


def _shares(places: int, waiting: dict[JobClass, int], passes: Passes) -> dict[JobClass, int]:
    return share_out(places, waiting, passes, STRIDES)[0]


def test_while_all_are_hungry_shares_divide_the_places() -> None:
    given = _shares(180, dict.fromkeys(JobClass, 999), Passes())
    assert list(given.values()) == [100, 50, 20, 10]


def test_an_unused_share_goes_to_the_others() -> None:
    given = _shares(100, {JobClass.P1: 10, JobClass.P4: 999}, Passes())
    assert (given[JobClass.P1], given[JobClass.P4]) == (10, 90)


@given(
    st.dictionaries(st.sampled_from(JobClass), st.integers(0, 50)),
    st.lists(st.integers(0, 30), max_size=6),
)
def test_places_are_used_while_anyone_waits(waiting: dict[JobClass, int], ticks: list[int]) -> None:
    passes, left = Passes(), Counter(waiting)
    for places in ticks:
        expected = min(places, left.total())
        given, passes = share_out(places, left, passes, STRIDES)
        assert sum(given.values()) == expected
        left -= Counter(given)


@given(st.lists(st.integers(1, 7), min_size=1, max_size=40))
def test_in_small_steps_or_one_large_one_the_shares_are_the_same(steps: list[int]) -> None:
    hungry, passes = dict.fromkeys(JobClass, 9999), Passes()
    in_steps = Counter[JobClass]()
    for places in steps:
        given, passes = share_out(places, hungry, passes, STRIDES)
        in_steps += Counter(given)
    assert in_steps == +Counter(_shares(sum(steps), hungry, Passes()))


def test_nobody_starves() -> None:
    hungry, passes, waited = dict.fromkeys(JobClass, 9999), Passes(), 0
    for _ in range(1000):
        given, passes = share_out(1, hungry, passes, STRIDES)
        waited = 0 if given[JobClass.P4] else waited + 1
        assert waited <= 18


def test_one_at_a_time_does_not_win_a_class_more_than_its_share() -> None:
    """A class that shows up with a single run, again and again, is not served at once each time."""
    passes, served = Passes(), 0
    for _ in range(1100):
        given, passes = share_out(1, {JobClass.P1: 9999, JobClass.P4: 1}, passes, STRIDES)
        served += given[JobClass.P4]
    assert 95 <= served <= 105


@pytest.mark.parametrize("share", [0, -1])
def test_a_class_without_a_share_is_refused(share: int) -> None:
    with pytest.raises(ValueError, match="P3"):
        strides({**DEFAULT_SHARES, JobClass.P3: share})
