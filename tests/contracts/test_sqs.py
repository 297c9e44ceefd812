"""What SQS carries comes out as it went in, whatever it is; and its mapping's event is read."""

import base64
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.contracts.batch import read_batch
from lamplighter.contracts.sqs import MAX_RECEIVES, Attribute, pause_seconds, unwrap, wrap
from lamplighter.ports.bus import MAX_MESSAGE_BYTES, Message, Record

LIMIT = 1024 * 1024
ARN = "arn:aws:sqs:eu-central-1:123456789012:lamplighter-job-events"

texts = st.text().map(lambda text: text.encode(errors="surrogatepass"))
messages = st.builds(
    Message,
    topic=st.sampled_from(["job-events", "job-runs.tasks.p1"]),
    value=st.one_of(st.binary(), texts, st.sampled_from([b"", b"-", b"\r\n", b"\x00"])),
    key=st.none() | st.binary(min_size=1),
    headers=st.lists(st.tuples(st.text(), st.binary()), max_size=4).map(tuple),
)


def delivered(*messages: Message, receives: int = 1) -> dict[str, Any]:
    """As Lambda's mapping hands them to a function."""
    records = []
    for number, message in enumerate(messages):
        wrapped = wrap(message)
        records.append(
            {
                "messageId": f"id-{number}",
                "receiptHandle": f"handle-{number}",
                "body": wrapped.body,
                "attributes": {
                    "ApproximateReceiveCount": str(receives),
                    "SentTimestamp": "1795000000000",
                },
                "messageAttributes": {
                    name: _as_json(each) for name, each in wrapped.attributes.items()
                },
                "eventSource": "aws:sqs",
                "eventSourceARN": ARN,
            }
        )
    return {"Records": records}


def _as_json(attribute: dict[str, Any]) -> dict[str, Any]:
    if attribute["DataType"] == "String":
        return {"stringValue": attribute["StringValue"], "dataType": "String"}
    value = base64.b64encode(attribute["BinaryValue"]).decode()
    return {"binaryValue": value, "stringListValues": [], "dataType": "Binary"}


@given(st.lists(messages, max_size=3))
def test_through_the_mapping_nothing_changes(sent: list[Message]) -> None:
    batch = read_batch(delivered(*sent))

    assert [Message(r.topic, r.value, r.key, r.headers) for r in batch.records] == sent
    assert {record.timestamp_ms for record in batch.records} <= {1795000000000}


@given(messages)
def test_a_body_is_one_that_sqs_takes_and_counted_as_sqs_counts(message: Message) -> None:
    wrapped = wrap(message)

    assert wrapped.body
    assert all(c in "\t\n" or " " <= c <= "\ud7ff" or c >= "\ue000" for c in wrapped.body)
    assert not set(wrapped.body) & {"\ufffe", "\uffff"}
    assert wrapped.size == len(wrapped.body.encode()) + sum(
        len(name) + len(each["DataType"]) + len(each.get("BinaryValue") or each["StringValue"])
        for name, each in wrapped.attributes.items()
    )


def test_what_we_send_can_be_read_in_the_queue() -> None:
    assert wrap(Message("job-events", '{"name": "Tür"}'.encode())).body == '{"name": "Tür"}'


@pytest.mark.parametrize("byte", [b"x", b"\xff"])
def test_the_largest_message_fits_whatever_is_in_it(byte: bytes) -> None:
    key, headers = b"k" * 100, (("lamplighter-dead-why", b"w" * 2000),) * 6
    rest = MAX_MESSAGE_BYTES - 100 - 6 * 2020
    assert wrap(Message("job-runs." + "p" * 100, byte * rest, key, headers)).size <= LIMIT


def test_a_message_of_another_s_names_its_queue() -> None:
    assert unwrap("hello", {}, 7, 3, "q") == Record("q", 0, 3, None, b"hello", 7)
    # A lone dash is a value like any other there.
    assert unwrap("-", {}, 7, 3, "q").value == b"-"
    assert unwrap("x", {"mine": Attribute("y")}, 7, 3, "q").topic == "q"


def test_the_answer_names_messages_by_their_id() -> None:
    batch = read_batch(delivered(*[Message("job-events", b"x")] * 3, receives=4))

    assert batch.answer([]) == {"batchItemFailures": []}
    assert batch.answer(batch.records[1:]) == {
        "batchItemFailures": [{"itemIdentifier": "id-1"}, {"itemIdentifier": "id-2"}]
    }
    [receipt] = batch.receipts_of(batch.records[:1])
    assert (receipt.topic, receipt.handle, receipt.receives) == ("job-events", "handle-0", 4)


@pytest.mark.parametrize("event", [{}, {"Records": [{"eventSource": "aws:s3"}]}, {"records": 1}])
def test_what_no_mapping_sends_is_refused(event: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        read_batch(event)


def test_what_comes_back_rests_ever_longer_and_an_outage_may_last_a_day() -> None:
    pauses = [pause_seconds(receives) for receives in range(1, MAX_RECEIVES)]

    assert pauses[:6] == [0, 0, 1, 2, 4, 8]
    assert pauses == sorted(pauses)
    assert sum(pauses) > 24 * 3600 - 3600
    assert max(pauses) == 300
