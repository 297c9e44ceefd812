"""The closed sets of words, as the documentation spells them; a renamed one breaks stored jobs."""

from enum import Enum

import msgspec
import pytest

from lamplighter.domain import policy
from lamplighter.domain.policy import Backoff, CatchUpPolicy, Dst, JobClass, ScheduleType, Upstream

CLASS_OF_PRIORITY = {
    1: "P1", 2: "P1", 3: "P2", 4: "P2", 5: "P2", 6: "P3", 7: "P3", 8: "P3", 9: "P4", 10: "P4",
}  # fmt: skip

WORDS = {
    "ScheduleType": "IMMEDIATE FUTURE CRON INTERVAL AFTER",
    "DstGap": "shift skip",
    "DstOverlap": "first second both",
    "DayMatch": "or and",
    "Overlap": "allow forbid queue replace",
    "CatchUp": "latest all none",
    "OnAmbiguous": "retry hold",
    "TriggerRule": "all_success all_done one_success none_failed",
    "EdgeRule": "same_fire latest_success next_after",
}


@pytest.mark.parametrize(("priority", "name"), CLASS_OF_PRIORITY.items())
def test_a_priority_belongs_to_its_class(priority: int, name: str) -> None:
    assert JobClass.of(priority).name == name


def test_classes_are_numbered_as_they_are_named() -> None:
    assert [(member.name, member.value) for member in JobClass] == [
        ("P1", 1), ("P2", 2), ("P3", 3), ("P4", 4),
    ]  # fmt: skip


@pytest.mark.parametrize(("name", "words"), WORDS.items(), ids=WORDS)
def test_the_words_are_the_documented_ones(name: str, words: str) -> None:
    assert [member.value for member in getattr(policy, name)] == words.split()


def test_every_set_of_words_is_checked_here() -> None:
    named = {
        name
        for name, thing in vars(policy).items()
        if isinstance(thing, type) and issubclass(thing, Enum) and thing is not Enum
    }
    assert named == {*WORDS, "JobClass"}


def test_a_schedule_is_recurring_one_off_or_its_upstreams() -> None:
    recurring = {kind.name for kind in ScheduleType if kind.is_recurring}
    one_off = {kind.name for kind in ScheduleType if kind.is_one_off}
    assert (recurring, one_off) == ({"CRON", "INTERVAL"}, {"IMMEDIATE", "FUTURE"})


@pytest.mark.parametrize("kind", [Dst, CatchUpPolicy, Backoff])
def test_a_policy_at_its_defaults_is_stored_as_nothing(kind: type[msgspec.Struct]) -> None:
    assert msgspec.json.encode(kind()) == b"{}"


@pytest.mark.parametrize("kind", [Dst, CatchUpPolicy, Backoff, Upstream])
def test_a_misspelt_field_is_refused(kind: type[msgspec.Struct]) -> None:
    with pytest.raises(msgspec.ValidationError, match="unknown field `jiter`"):
        msgspec.json.decode(b'{"jiter": 1}', type=kind)


def test_the_default_backoff_is_one_second_doubling_up_to_an_hour_with_jitter() -> None:
    default = Backoff()
    assert (default.base_seconds, default.factor, default.cap_seconds) == (1, 2, 3600)
    assert default.jitter
