"""What only SQS has to prove: its queues, its limits, its permissions, and what it lacks."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from lamplighter.adapters.sqs import consumer as consumer_module
from lamplighter.adapters.sqs import queues
from lamplighter.adapters.sqs.bus import SqsBus
from lamplighter.adapters.sqs.consumer import SqsConsumer
from lamplighter.adapters.sqs.queues import queue_name
from lamplighter.adapters.targets.aws.clients import Clients
from lamplighter.contracts.dead_letters import read_dead_letter
from lamplighter.contracts.sqs import MAX_RECEIVES, Receipt
from lamplighter.contracts.topics import DEAD_LETTERS, JOB_REQUESTS
from lamplighter.ports.bus import (
    MAX_MESSAGE_BYTES,
    BusUnavailable,
    Capability,
    Message,
    MessageTooLarge,
    Topic,
    UnknownPartition,
    UnknownTopic,
)
from tests.adapters.bus.brokers import ALL, BUSES, PUBLISH_SECONDS, Sqs, able
from tests.adapters.bus.play import Play, drain, take, until, values


@pytest.fixture
def bus(own_sqs: Sqs) -> Iterator[SqsBus]:
    made = own_sqs.bus(PUBLISH_SECONDS)
    assert isinstance(made, SqsBus)
    yield made
    made.close()


@pytest.fixture
def client(own_sqs: Sqs) -> Any:
    """The very one that the bus calls, to see and to spoil its calls."""
    return own_sqs.clients.get("sqs", read_seconds=5, repeat=False)


@contextmanager
def hooked(client: Any, event: str, hook: Callable[..., Any]) -> Iterator[None]:
    client.meta.events.register(event, hook)
    try:
        yield
    finally:
        client.meta.events.unregister(event, hook)


def forbidden(**_: Any) -> None:
    error = {"Code": "AccessDenied", "Message": "not you"}
    raise ClientError({"Error": error, "ResponseMetadata": {"HTTPStatusCode": 403}}, "CreateQueue")  # type: ignore[typeddict-item]


def attributes(client: Any, topic: str) -> dict[str, str]:
    url = client.get_queue_url(QueueName=queue_name("test", topic))["QueueUrl"]
    found = client.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])
    told: dict[str, str] = found["Attributes"]
    return told


def test_it_declares_what_it_cannot_do_and_the_others_can_do_everything() -> None:
    lacking = {kind: set(Capability) - BUSES[kind].capabilities for kind in BUSES}  # type: ignore[operator]
    assert lacking == {
        "memory": set(),
        "streams": set(),
        "kafka": set(),
        "sqs": {Capability.ORDER, Capability.PARTITIONS, Capability.GROUPS},
    }
    assert [each.values[0] for each in ALL if able(str(each.values[0]))] == list(BUSES)


def test_a_queue_is_named_after_its_topic() -> None:
    assert queue_name("lamplighter", "job-runs.tasks.p1") == "lamplighter-job-runs-tasks-p1"
    with pytest.raises(UnknownTopic, match="80 characters at most"):
        queue_name("lamplighter", f"job-runs.{'x' * 100}.p1")


def test_queues_are_made_with_their_retention_and_a_place_for_dead_letters(
    bus: SqsBus, client: Any
) -> None:
    bus.ensure_topics([JOB_REQUESTS])

    made = attributes(client, JOB_REQUESTS.name)
    assert made["MessageRetentionPeriod"] == str(14 * 24 * 3600)
    assert made["MaximumMessageSize"] == str(1024 * 1024)
    assert int(made["VisibilityTimeout"]) >= 900
    dead = attributes(client, DEAD_LETTERS.name)
    assert dead["QueueArn"] in made["RedrivePolicy"]
    assert f'"maxReceiveCount":{MAX_RECEIVES}' in made["RedrivePolicy"].replace(" ", "")
    assert "RedrivePolicy" not in dead


def test_queues_that_exist_need_no_permission_to_make_them(bus: SqsBus, client: Any) -> None:
    bus.ensure_topics([JOB_REQUESTS])
    deployed = SqsBus(Sqs.clients, prefix="test")

    with hooked(client, "before-call.sqs.CreateQueue", forbidden):
        deployed.ensure_topics([JOB_REQUESTS, DEAD_LETTERS])
        with pytest.raises(BusUnavailable, match="AccessDenied"):
            deployed.ensure_topics([Topic("missing", 1, keyed_by="nothing")])
    deployed.close()


def test_a_call_carries_ten_messages_and_a_megabyte_at_most(bus: SqsBus, client: Any) -> None:
    topic = Play(bus).topic()
    calls: list[list[int]] = []

    def note(params: dict[str, Any], **_: Any) -> None:
        calls.append([len(entry["MessageBody"]) for entry in params["Entries"]])

    with hooked(client, "provide-client-params.sqs.SendMessageBatch", note):
        bus.publish([Message(topic, b"x" * 400_000)] * 4 + [Message(topic, b"x")] * 25)
    assert sum(len(call) for call in calls) == 29
    assert len(calls) == 4
    assert all(len(call) <= 10 and sum(call) <= 1024 * 1024 for call in calls)


def test_headers_that_outgrow_a_message_are_refused_before_anything_is_sent(bus: SqsBus) -> None:
    play = Play(bus)
    topic = play.topic()
    headers = (("h", b""),) * 2_000
    value = b"x" * (MAX_MESSAGE_BYTES - 2_000)
    with pytest.raises(MessageTooLarge):
        bus.publish([Message(topic, b"small"), Message(topic, value, None, headers)])
    assert play.lag(topic) == 0


def test_what_was_refused_of_a_batch_is_sent_again_and_no_more(bus: SqsBus, client: Any) -> None:
    play = Play(bus)
    topic = play.topic()
    sizes: list[int] = []

    def fail_one(parsed: dict[str, Any], **_: Any) -> None:
        sizes.append(len(parsed["Successful"]))
        if len(sizes) == 1:
            failed = parsed["Successful"].pop()
            parsed["Failed"] = [{"Id": failed["Id"], "SenderFault": False, "Code": "Throttled"}]

    with hooked(client, "after-call.sqs.SendMessageBatch", fail_one):
        play.publish(topic, *"abc")
    assert sizes == [3, 1]


def test_what_sqs_will_never_take_is_an_error_at_once(bus: SqsBus, client: Any) -> None:
    topic = Play(bus).topic()

    def fail_all(parsed: dict[str, Any], **_: Any) -> None:
        failed = [{"Id": e["Id"], "SenderFault": True, "Code": "Bad"} for e in parsed["Successful"]]
        parsed.update(Successful=[], Failed=failed)

    with (
        hooked(client, "after-call.sqs.SendMessageBatch", fail_all),
        pytest.raises(BusUnavailable, match="refused 2 of 2 entries: Bad"),
    ):
        bus.publish([Message(topic, b"x")] * 2)


def test_a_queue_is_one_partition(bus: SqsBus) -> None:
    play = Play(bus)
    topic = play.topic(partitions=20)
    with pytest.raises(UnknownPartition):
        bus.publish([Message(topic, b"x", partition=1)])
    bus.publish([Message(topic, b"x", partition=0)])
    assert bus.lags("anybody", [topic]) == {(topic, 0): 1}


def test_a_queue_that_was_deleted_is_looked_up_anew(bus: SqsBus, client: Any) -> None:
    play = Play(bus)
    topic = play.topic()
    play.publish(topic, "a")
    client.delete_queue(QueueUrl=bus._queues.urls([topic], time.monotonic() + 5)[topic])
    with pytest.raises(UnknownTopic):
        play.publish(topic, "b")
    bus.ensure_topics([Topic(topic, 1, keyed_by="nothing")])
    play.publish(topic, "c")
    assert play.lag(topic) == 1


def test_a_reader_that_died_is_missed_when_its_session_is_over(bus: SqsBus) -> None:
    play = Play(bus)
    topic = play.topic()
    play.publish(topic, *"abc")
    victim = bus.consumer("group", [topic], session_seconds=1.0)
    take(victim, 3)
    victim._closed.set()  # its keeper ends, and nobody says good-bye
    assert sorted(values(drain(play.consumer(topic), 3))) == [*"abc"]
    victim._calls.close()
    play.close()


def test_what_nobody_asked_for_goes_back_to_the_others(bus: SqsBus) -> None:
    play = Play(bus)
    topics = [play.topic() for _ in range(4)]
    for topic in topics:
        play.publish(topic, topic)
    greedy = play.consumer(*topics, session=30.0)
    [first] = take(greedy, 1)
    assert {first.topic, *values(drain(play.consumer(*topics), 3))} == set(topics)
    play.close()


def test_no_message_is_with_two_at_once_while_readers_come_and_go(bus: SqsBus) -> None:
    play = Play(bus)
    topic = play.topic()
    in_hand: list[str] = []
    handled: list[str] = []
    twice: list[str] = []

    def read(consumer: SqsConsumer, wanted: int) -> None:
        seen = 0
        while seen < wanted and len(handled) < 120:
            records = consumer.poll(7, 0.1)
            twice.extend(value for value in values(records) if value in in_hand)
            in_hand.extend(values(records))
            time.sleep(0.01)
            for value in values(records):
                in_hand.remove(value)
            handled.extend(values(records))
            consumer.commit(records)
            seen += len(records)
        consumer.close()

    bus.publish([Message(topic, b"%d" % n) for n in range(120)])
    wishes = (20, 40, 200)
    readers = [
        threading.Thread(target=read, args=[bus.consumer("g", [topic]), wish]) for wish in wishes
    ]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join(30)
    assert (sorted(map(int, handled)), twice) == (list(range(120)), [])
    assert play.lag(topic) == 0


def test_what_was_taken_too_often_becomes_a_dead_letter_that_can_go_back(
    bus: SqsBus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queues, "MAX_RECEIVES", 2)
    play = Play(bus)
    topic = play.topic()
    bus.publish([Message(topic, b"\xff", b"key", (("trace", b"1"),))])
    consumer = play.consumer(topic)
    for _ in range(2):
        consumer.rewind(take(consumer, 1))
    until(lambda: not consumer.poll(1, 0.1) and not play.lag(topic), "SQS moves it")

    [record] = drain(play.consumer(DEAD_LETTERS.name), 1)

    letter = read_dead_letter(record)
    assert (letter.function, letter.can_return) == ("sqs", True)
    assert letter.message() == Message(topic, b"\xff", b"key", (("trace", b"1"),))
    play.close()


def test_what_a_function_gives_back_comes_at_once(bus: SqsBus, client: Any) -> None:
    play = Play(bus)
    topic = play.topic()
    play.publish(topic, "again")
    url = client.get_queue_url(QueueName=queue_name("test", topic))["QueueUrl"]
    [taken] = client.receive_message(QueueUrl=url)["Messages"]
    consumer = play.consumer(topic)
    assert consumer.poll(1, 0.3) == []

    receipt = Receipt(taken["MessageId"], topic, taken["ReceiptHandle"], 1)
    unknown = Receipt("another", "no-such-topic", "handle", 1)
    bus.give_back([receipt])
    bus.give_back([unknown])

    assert values(drain(consumer, 1)) == ["again"]
    play.close()


def test_nothing_comes_while_sqs_is_away_and_everything_when_it_is_back(
    bus: SqsBus, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumer_module, "_SETTLE_SECONDS", 0.5)
    play = Play(bus)
    topic = play.topic()
    consumer = play.consumer(topic)
    play.publish(topic, "patient")
    in_hand = take(consumer, 1)

    def away(**_: Any) -> None:
        raise EndpointConnectionError(endpoint_url="sqs")

    with hooked(client, "before-call.sqs", away):
        assert consumer.poll(1, 0.3) == []
        for call in (
            lambda: play.publish(topic, "lost"),
            lambda: bus.lags("group", [topic], seconds=0.3),
            lambda: consumer.commit(in_hand),
        ):
            with pytest.raises(BusUnavailable, match="not reached"):
                call()
    consumer.commit(in_hand)
    play.publish(topic, "later")
    assert values(drain(consumer, 1)) == ["later"]
    play.close()


def test_an_address_that_does_not_answer_is_an_error_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("AWS_ENDPOINT_URL_SQS", f"http://127.0.0.1:{silent.getsockname()[1]}")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
        bus = SqsBus(Clients("eu-central-1"), prefix="test", publish_seconds=0.5)
        began = time.monotonic()
        for call in (
            lambda: bus.lags("group", ["topic"], seconds=0.3),
            lambda: bus.publish([Message("topic", b"x")]),
        ):
            with pytest.raises(BusUnavailable, match="in time"):
                call()
        assert time.monotonic() - began < 4
        bus.close()
