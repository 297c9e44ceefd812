"""Bundles of events: order as if each were a message of its own, and no event lost to another."""

from collections import defaultdict
from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.contracts import bundles
from lamplighter.contracts.bundles import job_event_messages, read_job_events
from lamplighter.contracts.messages import JobEvent, JobEventType, encode
from lamplighter.contracts.topics import JOB_EVENTS
from lamplighter.ports.bus import Message, Record, choose_partition

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


def event(job_id: UUID, number: int = 0, error: str | None = None) -> JobEvent:
    kind = JobEventType.SCHEDULED
    return JobEvent(
        event_type=kind, job_id=job_id, tenant="t", at=NOON, attempt=number, error=error
    )


def record(value: bytes, offset: int = 0) -> Record:
    return Record(JOB_EVENTS.name, 0, offset, None, value, 0)


def read(messages: list[Message]) -> list[JobEvent]:
    found = read_job_events(record(each.value, n) for n, each in enumerate(messages))
    assert found.unreadable == []
    return [told for _, told in found.good]


def partition_of(key: bytes | None) -> int:
    return choose_partition(Message(JOB_EVENTS.name, b"", key), JOB_EVENTS.partitions, 0)


@given(st.lists(st.integers(0, 30), max_size=200), st.integers(1, 2_000))
def test_every_event_lies_in_its_jobs_partition_behind_the_earlier_ones(
    jobs: list[int], most_bytes: int
) -> None:
    events = [event(UUID(int=1 + job), number) for number, job in enumerate(jobs)]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(bundles, "BUNDLE_BYTES", most_bytes)
        messages = job_event_messages(events)

    by_job: dict[UUID, list[int | None]] = defaultdict(list)
    for message in messages:
        for told in read([message]):
            assert partition_of(told.job_id.bytes) == partition_of(message.key)
            by_job[told.job_id].append(told.attempt)
    assert all(numbers == sorted(numbers) for numbers in by_job.values())  # type: ignore[type-var]
    assert sorted(read(messages), key=lambda told: told.attempt or 0) == events


def test_a_batch_is_no_more_messages_than_there_are_partitions() -> None:
    events = [event(uuid4()) for _ in range(2_000)]

    assert len(job_event_messages(events)) == JOB_EVENTS.partitions


def test_a_bundle_that_grows_too_large_is_divided() -> None:
    job_id = uuid4()
    events = [event(job_id, n, "x" * (bundles.BUNDLE_BYTES // 3)) for n in range(5)]

    messages = job_event_messages(events)

    assert [len(read([each])) for each in messages] == [2, 2, 1]
    assert {each.key for each in messages} == {job_id.bytes}
    assert read(messages) == events


def test_nothing_to_tell_is_no_message() -> None:
    assert job_event_messages([]) == []


def test_a_piece_that_cannot_be_read_takes_none_of_its_neighbours_along() -> None:
    first, last = event(uuid4(), 1), event(uuid4(), 2)
    odd = b'{"event_type":"job.dreamt"}'
    whole = record(b"[%b,%b,%b]" % (encode(first), odd, encode(last)), 7)

    found = read_job_events([whole])

    assert [told for _, told in found.good] == [first, last]
    [(alone, why)] = found.unreadable
    assert (alone.value, alone.offset) == (b"[%b]" % odd, 7)
    assert "job.dreamt" in why


def test_an_event_that_stands_alone_is_read_as_well() -> None:
    alone = event(uuid4(), 1)

    assert [told for _, told in read_job_events([record(encode(alone))]).good] == [alone]


@pytest.mark.parametrize("value", [b"", b"{", b"3", b'{"event_type":"job.running"}'])
def test_what_is_no_list_is_unreadable_as_it_is(value: bytes) -> None:
    found = read_job_events([record(value)])

    assert found.good == []
    [(same, why)] = found.unreadable
    assert same.value == value
    assert why
