"""Trigger rules, case by case; the laws that hold for all of them are in test_trigger_laws."""

from datetime import UTC, datetime, timedelta
from itertools import product

import pytest

from lamplighter.domain.policy import TriggerRule
from lamplighter.domain.states import RunState, SkipReason
from lamplighter.domain.trigger import (
    Ready,
    Seen,
    Skip,
    Verdict,
    Wait,
    blocked_until,
    missing,
    over_pools,
    verdict,
)

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)

# S success, F failed, T timed out, C cancelled, K skipped, R running, - no run yet.
LETTERS = {
    "S": RunState.SUCCESS, "F": RunState.FAILED, "T": RunState.TIMED_OUT,
    "C": RunState.CANCELLED, "K": RunState.SKIPPED, "R": RunState.RUNNING, "-": None,
}  # fmt: skip
EXPECTED = """
            all_success  all_done  one_success  none_failed
    S       ready        ready     ready        ready
    F       skip         ready     skip         skip
    T       skip         ready     skip         skip
    C       skip         ready     skip         skip
    K       skip         ready     skip         ready
    R       wait         wait      wait         wait
    -       wait         wait      wait         wait
    SS      ready        ready     ready        ready
    SF      skip         ready     ready        skip
    SK      skip         ready     ready        ready
    SR      wait         wait      ready        wait
    S-      wait         wait      ready        wait
    FR      skip         wait      wait         skip
    T-      skip         wait      wait         skip
    CR      skip         wait      wait         skip
    KR      skip         wait      wait         wait
    KK      skip         ready     skip         ready
    FK      skip         ready     skip         skip
    SFR     skip         wait      ready        skip
    SKR     skip         wait      ready        wait
"""


def cases() -> list[tuple[TriggerRule, str, str]]:
    head, *rows = EXPECTED.strip().splitlines()
    rules = [TriggerRule(word) for word in head.split()]
    split = [row.split() for row in rows]
    return [
        (rule, letters, word)
        for letters, *words in split
        for rule, word in zip(rules, words, strict=True)
    ]


def named(states: list[RunState | None]) -> list[Seen]:
    return [(f"job-{number}", state) for number, state in enumerate(states)]


def kind(answer: Verdict) -> tuple[str, SkipReason | None]:
    return type(answer).__name__.lower(), answer.reason if isinstance(answer, Skip) else None


@pytest.mark.parametrize(("rule", "letters", "word"), cases())
def test_a_rule_decides_as_documented(rule: TriggerRule, letters: str, word: str) -> None:
    answer = verdict(rule, named([LETTERS[letter] for letter in letters]))
    assert kind(answer) == (word, SkipReason.UPSTREAM_FAILED if word == "skip" else None)


@pytest.mark.parametrize(
    "rule", [TriggerRule.ALL_SUCCESS, TriggerRule.ALL_DONE, TriggerRule.NONE_FAILED]
)
def test_a_rule_about_all_upstreams_is_met_by_none(rule: TriggerRule) -> None:
    assert verdict(rule, []) == Ready()


def test_one_success_cannot_come_from_nobody() -> None:
    answer = verdict(TriggerRule.ONE_SUCCESS, [])
    assert kind(answer) == ("skip", SkipReason.UPSTREAM_MISSING)


def test_the_text_of_a_skip_is_a_sentence() -> None:
    one = verdict(TriggerRule.ALL_SUCCESS, [("load", RunState.FAILED), ("clean", None)])
    two = verdict(TriggerRule.NONE_FAILED, [("b", RunState.CANCELLED), ("a", RunState.TIMED_OUT)])
    none = verdict(TriggerRule.ONE_SUCCESS, [("load", RunState.SKIPPED)])
    assert [answer.text for answer in (one, two, none) if isinstance(answer, Skip)] == [
        "upstream load ended FAILED",
        "upstream a ended TIMED_OUT (and 1 more did not succeed)",
        "no upstream succeeded: upstream load ended SKIPPED",
    ]


def test_a_fan_in_of_a_thousand_has_a_short_text() -> None:
    seen: list[Seen] = [(f"job-{n:04}", RunState.FAILED) for n in range(1000)]
    answer = verdict(TriggerRule.ALL_SUCCESS, seen)
    assert isinstance(answer, Skip)
    assert answer.text == "upstream job-0000 ended FAILED (and 999 more did not succeed)"


@pytest.mark.parametrize(
    ("letters", "end"),
    [
        ("S", "S"), ("SS", "S"), ("SK", "K"), ("SF", "F"), ("KT", "T"), ("CF", "F"), ("KC", "C"),
        ("FR", "R"), ("F-", "-"), ("SR", "R"), ("", "-"),
    ],
)  # fmt: skip
def test_an_upstream_in_several_pools_is_waited_for_in_all(letters: str, end: str) -> None:
    assert over_pools([LETTERS[letter] for letter in letters]) is LETTERS[end]


@pytest.mark.parametrize("pools", list(product("SFTCK", repeat=3)))
def test_an_upstream_succeeded_only_where_all_pools_did(pools: tuple[str, ...]) -> None:
    succeeded = over_pools([LETTERS[letter] for letter in pools]) is RunState.SUCCESS
    assert succeeded == (set(pools) == {"S"})


def test_a_blocked_run_waits_a_day_from_its_fire() -> None:
    planned = NOON - timedelta(days=3)
    assert blocked_until(fire=NOON, blocked_at=planned) == NOON + timedelta(days=1)


def test_a_blocked_run_of_a_past_fire_waits_from_when_it_was_written() -> None:
    past, bound = NOON - timedelta(days=30), timedelta(hours=2)
    assert blocked_until(fire=past, blocked_at=NOON, bound=bound) == NOON + bound


@pytest.mark.parametrize(
    ("c", "text"),
    [
        (None, "upstream b had not ended after 24 h (and 1 more had not)"),
        (RunState.SUCCESS, "upstream b had not ended after 24 h"),
    ],
)
def test_a_run_that_waited_in_vain_says_for_whom(c: RunState | None, text: str) -> None:
    seen: list[Seen] = [("c", c), ("a", RunState.SUCCESS), ("b", RunState.RUNNING)]
    assert verdict(TriggerRule.ALL_SUCCESS, seen) == Wait()
    assert missing(seen) == Skip(SkipReason.UPSTREAM_MISSING, text)
