"""The arithmetic of the benchmarks: what they tell follows from what was noted."""

import pytest

from benchmarks.figures import (
    cpu_per_thousand,
    highest_that_holds,
    lateness_over_time,
    longest_gap,
    percentile,
    rate_over_time,
    spread,
)


@pytest.mark.parametrize(
    ("share", "value"), [(0.5, 50), (0.99, 99), (1.0, 100), (0.0, 1), (0.995, 100)]
)
def test_a_percentile_is_a_value_that_occurred(share: float, value: float) -> None:
    hundred = [float(n) for n in range(100, 0, -1)]

    assert percentile(hundred, share) == value


def test_a_spread_of_one_is_that_one() -> None:
    assert spread([0.25]) == (0.25, 0.25, 0.25)


def test_a_rate_that_holds_after_one_that_did_not_is_luck() -> None:
    p99_of = {500: 0.02, 1_000: 0.09, 2_000: 0.3, 3_000: 0.08}

    assert highest_that_holds(p99_of, 0.1) == 1_000
    assert highest_that_holds(p99_of, 2.0) == 3_000
    assert highest_that_holds(p99_of, 0.02) is None


def test_the_longest_gap_is_found_in_any_order_of_times() -> None:
    gap = longest_gap([5.0, 1.0, 1.5, 3.25, 4.0])

    assert gap == (1.5, 1.75)
    assert longest_gap([7.0]).seconds == 0


def test_a_step_in_which_nothing_happened_is_a_zero() -> None:
    points = rate_over_time([10.0, 10.1, 10.9], since=10.0, step=0.25)

    assert points == [(0.0, 8.0), (0.25, 0.0), (0.5, 0.0), (0.75, 4.0)]


def test_lateness_is_told_per_step_in_milliseconds() -> None:
    pairs = [(0.2, 0.010), (0.4, 0.030), (2.1, 0.005)]

    assert lateness_over_time(pairs, step=1.0, share=1.0) == [(0.0, 30.0), (2.0, 5.0)]


def test_cpu_is_what_was_spent_between_and_a_new_part_counts_whole() -> None:
    before, after = {"gateway": 1.0, "recorder": 2.0}, {"gateway": 1.5, "recorder": 4.0, "new": 0.1}

    used = cpu_per_thousand(before, after, jobs=10_000)

    assert list(used) == ["recorder", "gateway", "new"]
    assert used == pytest.approx({"recorder": 200.0, "gateway": 50.0, "new": 10.0})
