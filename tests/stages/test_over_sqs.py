"""What the stages do over a bus without order, partitions or groups: the same, by other means."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from lamplighter.adapters.memory.ledger import MemoryLedger
from lamplighter.adapters.memory.queue import MemoryQueue
from lamplighter.adapters.sqs.bus import SqsBus
from lamplighter.contracts.dead_letters import dead_letter
from lamplighter.contracts.messages import encode, read_run
from lamplighter.contracts.topics import DEAD_LETTERS, JOB_EVENTS, JOB_REQUESTS, job_runs_topics
from lamplighter.domain.run import Due
from lamplighter.ports.bus import Message, Record
from lamplighter.ports.queue import Ready
from lamplighter.stages.attend import Worker
from lamplighter.stages.capacity import Window, executor_group
from lamplighter.stages.redrive import BATCH, Fate, dead_letters, redrive
from lamplighter.stages.tick import tick
from tests.adapters.bus.brokers import Sqs
from tests.adapters.bus.moto_sqs import playing_sqs
from tests.adapters.bus.play import drain, take, until
from tests.stages.working import Workplace

GROUP = executor_group("default")
RUNS = job_runs_topics("default")
PATIENCE = 10.0


@pytest.fixture
def bus() -> Iterator[SqsBus]:
    with playing_sqs():
        made = Sqs().bus()
        assert isinstance(made, SqsBus)
        made.ensure_topics([*RUNS, DEAD_LETTERS, JOB_EVENTS, JOB_REQUESTS])
        yield made
        made.close()


def runs(count: int) -> list[Ready]:
    return [Ready(uuid4(), 0, 5, "default", "tenant") for _ in range(count)]


def test_a_queue_is_the_one_place_of_its_class_and_its_length_is_what_is_taken(
    bus: SqsBus,
) -> None:
    now = 1000.0
    window = Window(bus, {"default": 5}, steady=lambda: now)
    assert window.free() == {"default": 5}
    assert window.place(runs(3)) == [0, 0, 0]
    assert window.free() == {"default": 2}

    bus.publish([Message("job-runs.p2", b"run", partition=0)] * 3)
    consumer = bus.consumer(GROUP, ["job-runs.p2"])
    records = take(consumer, 3)
    now += 10
    assert window.free() == {"default": 2}  # in hand is not done
    consumer.commit(records)
    now += 10
    assert window.free() == {"default": 5}
    consumer.close()


def test_no_more_runs_are_in_the_queues_than_there_is_room_for(bus: SqsBus) -> None:
    queue, ledger, seen = MemoryQueue(), MemoryLedger(), list[UUID]()
    lease = ledger.acquire_lease("watcher", "w1", timedelta(seconds=60))
    assert lease
    now = ledger.now()
    queue.begin(lease.epoch, now, now)
    due = [Due(uuid4(), "tenant", "default", 1 + n % 10, now, 0) for n in range(50)]
    queue.add(due)
    window = Window(bus, {"default": 20}, every_seconds=0.0)
    consumer = bus.consumer(GROUP, [topic.name for topic in RUNS])

    while len(seen) < 50:
        tick(queue, bus, lease, now, window)
        assert sum(bus.lags(GROUP, [topic.name for topic in RUNS]).values()) <= 20
        records = consumer.poll(15, PATIENCE)
        consumer.commit(records)
        seen += [read_run(record.value).run_id for record in records]

    assert sorted(seen) == sorted(each.run_id for each in due)
    consumer.close()


def test_a_worker_takes_runs_of_every_class_and_a_long_one_holds_up_nothing(bus: SqsBus) -> None:
    place, release = Workplace(places=3), threading.Event()
    place.bus = bus  # type: ignore[assignment]
    place.does("slow", lambda _: release.wait(PATIENCE))
    place.does("good", lambda _: "done")
    topics = [topic.name for topic in RUNS]
    worker = Worker(bus, bus.consumer(GROUP, topics), place.runner, place.work())
    thread = threading.Thread(target=worker.attend, args=[PATIENCE])
    thread.start()

    names = ["slow", "good", "good", "good"]
    for topic, name in zip(topics, names, strict=True):
        bus.publish([Message(topic, encode(each), partition=0) for each in place.due(name)])

    # A running and an outcome for each of the quick ones, a running for the slow one.
    events = bus.consumer("recorder", [JOB_EVENTS.name])
    drain(events, 7)
    until(lambda: sum(bus.lags(GROUP, topics).values()) == 0, "all of them are committed")
    release.set()
    drain(events, 1)
    worker.stop()
    thread.join(PATIENCE)
    events.close()
    assert not thread.is_alive()


def die(bus: SqsBus, *values: str, topic: str = JOB_EVENTS.name) -> None:
    records = [Record(topic, 0, 0, b"key", value.encode(), 0) for value in values]
    bus.publish([dead_letter(record, "broken", "recorder") for record in records])


def dead(bus: SqsBus) -> list[str]:
    return sorted(letter.value.decode() for letter in dead_letters(bus, patience=PATIENCE))


def test_dead_letters_go_back_and_those_not_asked_for_stay(
    bus: SqsBus, monkeypatch: pytest.MonkeyPatch
) -> None:
    die(bus, "a", "b", "c")
    die(bus, "other", topic=JOB_REQUESTS.name)
    die(bus, "homeless", topic="no-such-topic")
    sent: list[str] = []
    publish = bus.publish

    def note(batch: Sequence[Message]) -> None:
        sent.extend(message.topic for message in batch)
        publish(batch)

    monkeypatch.setattr(bus, "publish", note)
    told = list(redrive(bus, JOB_EVENTS.name, limit=2, patience=PATIENCE))

    assert sent == [JOB_EVENTS.name] * 2  # nothing has moved to an end that is none
    returned = [each.letter.value.decode() for each in told if each.fate is Fate.RETURNED]
    with closing(bus.consumer("recorder", [JOB_EVENTS.name])) as recorder:
        arrived = drain(recorder, 2)
    assert sorted(each.value.decode() for each in arrived) == sorted(returned)
    [left] = {*"abc"} - {*returned}
    assert dead(bus) == [left, "homeless", "other"]

    fates = {each.letter.value.decode(): each.fate for each in redrive(bus, patience=PATIENCE)}
    assert fates == {left: Fate.RETURNED, "homeless": Fate.STUCK, "other": Fate.RETURNED}
    assert dead(bus) == ["homeless"]


def test_looking_at_more_letters_than_one_batch_changes_nothing(bus: SqsBus) -> None:
    names = sorted(str(number) for number in range(BATCH + 5))
    die(bus, *names)

    assert dead(bus) == names
    assert dead(bus) == names
    assert sum(bus.lags("redrive", [DEAD_LETTERS.name]).values()) == len(names)
