"""Where the next runs of a topic go: nobody waits behind a long run while another is idle."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.stages.partitions import Partitions, spread

COUNTS = st.integers(1, 3000)
LAGS = st.lists(st.integers(0, 3) | st.integers(0, 500), min_size=1, max_size=24)


def known(*lags: int) -> Partitions:
    partitions = Partitions()
    partitions.learn(lags)
    return partitions


@given(COUNTS, LAGS)
def test_the_least_loaded_come_to_one_level(runs: int, lags: list[int]) -> None:
    shares = spread(runs, dict(enumerate(lags)))
    after = [lag + shares.get(number, 0) for number, lag in enumerate(lags)]
    filled = [after[number] for number in shares]
    assert sum(shares.values()) == runs
    assert all(share > 0 for share in shares.values())
    assert max(filled) - min(filled) <= 1
    assert min(after) >= max(filled) - 1


@given(st.lists(COUNTS, min_size=1, max_size=5), LAGS)
def test_every_run_gets_a_partition_and_counts(batches: list[int], lags: list[int]) -> None:
    partitions = known(*lags)
    for runs in batches:
        taken = partitions.take(runs)
        assert len(taken) == runs
        assert set(taken) <= set(range(len(lags)))
    assert partitions.unfinished() == sum(lags) + sum(batches)


@given(COUNTS, LAGS, st.integers(1, 30))
def test_idle_ones_share_evenly_and_the_others_get_nothing(
    runs: int, lags: list[int], before: int
) -> None:
    partitions = Partitions()
    partitions.learn([0] * len(lags))
    partitions.take(before)  # the turn is anybody's
    partitions.learn(lags)
    idle = [number for number, lag in enumerate(lags) if lag == 0]
    taken = partitions.take(runs)
    if idle:
        counts = [taken.count(number) for number in idle]
        assert sum(counts) == runs
        assert max(counts) - min(counts) <= 1


@given(COUNTS, LAGS)
def test_what_goes_to_one_partition_goes_there_in_a_row(runs: int, lags: list[int]) -> None:
    taken = known(*lags).take(runs)
    changes = sum(one != other for one, other in pairwise(taken))
    assert changes == len(set(taken)) - 1


@given(COUNTS, LAGS, st.integers(1, 200))
def test_runs_that_go_together_use_no_more_partitions_than_they_need(
    runs: int, lags: list[int], together: int
) -> None:
    taken = known(*lags).take(runs, together)
    assert len(taken) == runs
    assert len(set(taken)) <= -(-runs // together)


def test_single_runs_take_partitions_in_turn() -> None:
    partitions = known(0, 0, 0)
    taken: list[int] = []
    for _ in range(6):
        taken += partitions.take(1)
        partitions.learn([0, 0, 0])
    assert taken == [0, 2, 1, 0, 2, 1]


@pytest.mark.parametrize("readers", [2, 4, 5])
def test_a_few_partitions_are_read_by_different_readers(readers: int) -> None:
    """Whoever reads one partition of twenty reads those next to it, too."""
    partitions = known(*[0] * 20)
    for _ in range(10):
        taken = set(partitions.take(readers + 2))
        assert len({number * readers // 20 for number in taken}) >= readers - 1
        partitions.learn([0] * 20)


def test_one_that_did_nothing_between_two_answers_is_stuck() -> None:
    partitions = known(1, 1, 1)
    partitions.take(5)
    partitions.learn([3, 3, 1])
    assert set(partitions.take(30)) == {2}


def test_one_that_was_idle_at_the_last_answer_may_have_just_begun() -> None:
    partitions = known(1, 0, 0)
    assert partitions.take(2) == [2, 1]
    partitions.learn([1, 1, 1])
    assert set(partitions.take(30)) == {1, 2}


def test_one_that_moves_again_is_used_again() -> None:
    partitions = known(2, 2)
    partitions.learn([2, 1])
    assert set(partitions.take(4)) == {1}
    partitions.learn([1, 5])
    assert set(partitions.take(4)) == {0}


def test_where_all_are_stuck_the_least_loaded_get_the_runs() -> None:
    partitions = known(3, 1, 7)
    partitions.learn([3, 1, 7])
    taken = partitions.take(6)
    assert [taken.count(number) for number in range(3)] == [2, 4, 0]


def test_before_the_first_answer_there_is_none_to_choose() -> None:
    assert Partitions().take(3) == []


def test_who_asks_for_much_leaves_quiet_ones_to_the_others() -> None:
    partitions = known(*[0] * 20)
    much = set(partitions.take(100, is_little=False))
    assert len(much) == 18
    little = set(partitions.take(2))
    assert len(little) == 2
    assert not little & much
    assert set(partitions.take(100, is_little=False)) == much
    assert set(partitions.take(2)) == little


def test_quiet_ones_are_not_left_where_all_others_are_stuck() -> None:
    lags = [5] * 20
    partitions = known(*lags)
    quiet = set(range(20)) - set(partitions.take(100, is_little=False))
    partitions.learn([4 if number in quiet else 11 for number in range(20)])
    assert set(partitions.take(10, is_little=False)) <= quiet


def test_who_asks_for_little_is_not_kept_where_the_quiet_ones_are_stuck() -> None:
    partitions = known(*[5] * 20)
    much = set(partitions.take(100, is_little=False))
    partitions.learn([4 if number in much else 5 for number in range(20)])
    assert set(partitions.take(3)) <= much
