"""Lambda's Kafka event: exactly its shape, there and back, and its answer read as AWS reads it."""

import json
import time
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.contracts.msk import answer, decode_event, event_of, settle
from lamplighter.ports.bus import Record

# As AWS documents it, with a header that has bytes above 127: they are signed there.
EVENT: dict[str, Any] = {
    "eventSource": "aws:kafka",
    "eventSourceArn": "arn:aws:kafka:us-east-1:123456789012:cluster/c/uuid",
    "bootstrapServers": "b-1.example:9098,b-2.example:9098",
    "records": {
        "job-runs.p1-0": [
            {
                "topic": "job-runs.p1",
                "partition": 0,
                "offset": 15,
                "timestamp": 1545084650987,
                "timestampType": "CREATE_TIME",
                "key": "am9i",
                "value": "SGVsbG8=",
                "headers": [{"traceparent": [48, 48]}, {"name": [-61, -85]}],
            }
        ]
    },
}
RECORD = Record(
    "job-runs.p1",
    0,
    15,
    b"job",
    b"Hello",
    1545084650987,
    (("traceparent", b"00"), ("name", "ë".encode())),
)

records = st.builds(
    Record,
    topic=st.sampled_from(["job-events", "job-runs.p1", "job-runs.a-1.p1"]),
    partition=st.integers(0, 3),
    offset=st.integers(0, 2**40),
    key=st.none() | st.binary(max_size=40),
    value=st.binary(max_size=200),
    timestamp_ms=st.integers(0, 2**42),
    headers=st.lists(st.tuples(st.text(max_size=10), st.binary(max_size=20)), max_size=3).map(
        tuple
    ),
)
batches = st.lists(records, max_size=30, unique_by=lambda r: (r.topic, r.partition, r.offset)).map(
    lambda found: sorted(found, key=lambda r: (r.topic, r.partition, r.offset))
)


def test_an_event_is_written_exactly_as_aws_writes_it() -> None:
    arn, servers = EVENT["eventSourceArn"], EVENT["bootstrapServers"]
    assert event_of([RECORD], arn=arn, servers=servers) == EVENT


def test_an_event_is_read() -> None:
    assert decode_event(EVENT) == [RECORD]


def test_unsigned_header_bytes_are_read_too() -> None:
    event = json.loads(json.dumps(EVENT))
    event["records"]["job-runs.p1-0"][0]["headers"] = [{"name": [195, 171]}]
    assert decode_event(event)[0].headers == (("name", "ë".encode()),)


@pytest.mark.parametrize("absent", [{"key"}, {"headers"}, {"key", "value", "headers"}])
def test_what_a_message_does_not_have_may_be_absent(absent: set[str]) -> None:
    event = json.loads(json.dumps(EVENT))
    [wire] = event["records"]["job-runs.p1-0"]
    for name in absent:
        del wire[name]
    [record] = decode_event(event)
    assert record.key == (None if "key" in absent else b"job")
    assert record.value == (b"" if "value" in absent else b"Hello")


@pytest.mark.parametrize(
    "wrong", [{}, {"records": []}, {"Records": []}, {"records": {"t-0": [{"offset": 1}]}}]
)
def test_what_is_no_kafka_event_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        decode_event(wrong)


@given(batches)
def test_there_and_back_nothing_changes(batch: list[Record]) -> None:
    event = event_of(batch)
    assert json.loads(json.dumps(event)) == event  # a handler sees nothing that JSON has not
    assert event["eventSource"] == "aws:kafka"
    assert decode_event(event) == batch


@given(batches, st.data())
def test_from_the_first_failure_on_a_partition_comes_again(
    batch: list[Record], data: st.DataObject
) -> None:
    failed = [each for each in batch if data.draw(st.booleans())]
    settled = settle(batch, json.loads(json.dumps(answer(failed))))
    assert sorted(settled.done + settled.again, key=batch.index) == batch
    for each in batch:
        before = [f for f in failed if f.place == each.place and f.offset <= each.offset]
        assert (each in settled.again) is bool(before)


@pytest.mark.parametrize("success", [None, {}, {"batchItemFailures": []}, answer([])])
def test_no_failures_is_success(success: object) -> None:
    assert settle([RECORD], success).done == [RECORD]


@pytest.mark.parametrize(
    "nonsense",
    [
        "text",
        {"batchItemFailures": "all"},
        {"batchItemFailures": [{"itemIdentifier": "SGVsbG8="}]},
        {"batchItemFailures": [{"itemIdentifier": {"partition": "", "offset": 15}}]},
        {"batchItemFailures": [{"itemIdentifier": {"partition": "elsewhere-0", "offset": 15}}]},
    ],
)
def test_an_answer_that_makes_no_sense_is_failure_of_all(nonsense: object) -> None:
    assert settle([RECORD], nonsense).again == [RECORD]


def test_ten_thousand_records_are_read_in_tens_of_milliseconds() -> None:
    value = b'{"run_id": "0190a5f6-7b6c-8b1a-9c3d-1234567890ab", "fence": 1, "pool": "default"}'
    many = [Record("job-events", n % 20, n, b"%036d" % n, value, n) for n in range(10_000)]
    event = event_of(many)
    times = []
    for _ in range(5):
        began = time.thread_time()
        assert len(decode_event(event)) == 10_000
        times.append(time.thread_time() - began)
    assert min(times) < 0.1
