"""Laws of the trigger rules: decided once, as early as possible, whatever the order."""

import random
from collections.abc import Sequence
from datetime import timedelta

from hypothesis import assume, given
from hypothesis import strategies as st

from lamplighter.domain.policy import TriggerRule
from lamplighter.domain.states import RunState, SkipReason
from lamplighter.domain.trigger import Ready, Seen, Skip, Verdict, Wait, missing, verdict

FINAL = [state for state in RunState if state.is_final]
LIVE = [None, *(state for state in RunState if not state.is_final)]


def named(states: Sequence[RunState | None]) -> list[Seen]:
    return [(f"job-{number}", state) for number, state in enumerate(states)]


def kind(answer: Verdict) -> tuple[str, SkipReason | None]:
    return type(answer).__name__, answer.reason if isinstance(answer, Skip) else None


def all_end_as(seen: list[Seen], end: RunState) -> list[Seen]:
    return [(name, state if state in FINAL else end) for name, state in seen]


rules = st.sampled_from(TriggerRule)
states = st.sampled_from([*LIVE, *FINAL])
observed = st.lists(states, max_size=6).map(named)


@st.composite
def progress(draw: st.DrawFn) -> tuple[list[Seen], list[Seen]]:
    """Upstreams now and later: what has ended stays, whatever has not may stand anywhere."""
    now = draw(observed)
    later = [(name, state if state in FINAL else draw(states)) for name, state in now]
    return now, later


@given(rules, progress())
def test_what_is_decided_is_never_decided_otherwise(
    rule: TriggerRule, seen: tuple[list[Seen], list[Seen]]
) -> None:
    """Ready stays Ready, and Skip stays Skip for the same reason; only its text may count more."""
    now, later = (kind(verdict(rule, upstreams)) for upstreams in seen)
    assume(now[0] != "Wait")
    assert later == now


@given(rules, observed, st.randoms(use_true_random=False))
def test_the_order_of_upstreams_is_no_matter(
    rule: TriggerRule, seen: list[Seen], rng: random.Random
) -> None:
    shuffled = rng.sample(seen, len(seen))
    assert verdict(rule, shuffled) == verdict(rule, seen)


@given(rules, st.lists(st.sampled_from(FINAL), max_size=6).map(named))
def test_nobody_waits_for_upstreams_that_have_all_ended(
    rule: TriggerRule, seen: list[Seen]
) -> None:
    assert verdict(rule, seen) != Wait()


@given(rules, observed)
def test_a_run_waits_only_while_the_answer_is_open(rule: TriggerRule, seen: list[Seen]) -> None:
    assume(rule is not TriggerRule.ALL_DONE)
    assume(verdict(rule, seen) == Wait())
    ends = {kind(verdict(rule, all_end_as(seen, state)))[0] for state in FINAL}
    assert ends == {"Ready", "Skip"}


@given(observed)
def test_all_done_waits_exactly_until_all_have_ended(seen: list[Seen]) -> None:
    done = all(state in FINAL for _, state in seen)
    assert verdict(TriggerRule.ALL_DONE, seen) == (Ready() if done else Wait())


@given(rules, observed)
def test_a_skip_names_an_upstream_and_how_it_ended(rule: TriggerRule, seen: list[Seen]) -> None:
    answer = verdict(rule, seen)
    assume(isinstance(answer, Skip) and seen)
    assert isinstance(answer, Skip)
    ends = [f"upstream {name} ended {state.name}" for name, state in seen if state is not None]
    assert any(end in answer.text for end in ends)


@given(rules, observed)
def test_whoever_still_waits_can_say_for_whom(rule: TriggerRule, seen: list[Seen]) -> None:
    assume(verdict(rule, seen) == Wait())
    answer = missing(seen, timedelta(minutes=30))
    assert answer.reason is SkipReason.UPSTREAM_MISSING
    assert "had not ended after 0.5 h" in answer.text
