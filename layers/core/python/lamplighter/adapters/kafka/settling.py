"""What was handed out, and what its handlers say about it."""

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from lamplighter.adapters.kafka.config import log
from lamplighter.ports.bus import BusUnavailable, Place, Record

# The partition is no longer ours, or will not be in a moment: its next owner starts from the last
# commit that counted.
_NOT_OURS: Final = {
    KafkaError.ILLEGAL_GENERATION,
    KafkaError.UNKNOWN_MEMBER_ID,
    KafkaError.REBALANCE_IN_PROGRESS,
    KafkaError.FENCED_INSTANCE_ID,
}


@dataclass
class Request:
    """Offsets by partition: done up to here, or again from here. `done` when it was performed."""

    commits: dict[Place, int] = field(default_factory=dict)
    rewinds: dict[Place, int] = field(default_factory=dict)
    done: threading.Event = field(default_factory=threading.Event)
    problem: BusUnavailable | None = None


@dataclass
class Loan:
    """What a handler has of one partition: up to where, and how much of it is done."""

    until: int
    committed: int = 0


class Settling:
    """Anyone may hand in a request; only the thread that is inside the consumer performs it."""

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer
        self._changed = threading.Condition()
        self._requests: list[Request] = []
        self._out: dict[Place, Loan] = {}
        self._paused: set[Place] = set()

    def hand_in(self, request: Request) -> None:
        with self._changed:
            self._requests.append(request)
            self._changed.notify_all()

    def wait(self, seconds: float) -> None:
        with self._changed:
            if not self._requests:
                self._changed.wait(seconds)

    def perform(self) -> None:
        with self._changed:
            requests, self._requests = self._requests, []
        for request in requests:
            try:
                self._commit(request.commits)
                self._rewind(request.rewinds)
            except BusUnavailable as problem:
                request.problem = problem
            finally:
                request.done.set()

    def give_out(self, records: Sequence[Record]) -> None:
        for record in records:
            self._out[record.topic, record.partition] = Loan(record.offset + 1)

    def any_out(self, places: Iterable[Place] | None = None) -> bool:
        if places is None:
            return bool(self._out)
        return any(place in self._out for place in places)

    def pause_what_is_out(self) -> None:
        """Only now, and not when they are given out: pausing throws away what was fetched ahead.

        Most callers settle before they poll again, and never come here.
        """
        fresh = self._out.keys() - self._paused
        if fresh:
            self._consumer.pause([TopicPartition(*place) for place in fresh])
            self._paused |= fresh

    def forget(self, places: Iterable[Place]) -> None:
        """They leave us, or come back as new: the library would remember that they were paused."""
        for place in places:
            if self._out.pop(place, None) and place in self._paused:
                self._paused.discard(place)
                self._consumer.resume([TopicPartition(*place)])

    def forget_all(self) -> None:
        self._out.clear()

    def _commit(self, ends: dict[Place, int]) -> None:
        # What was lost meanwhile must not be committed: its new owner may be further on.
        loans = {place: self._out[place] for place in ends if place in self._out}
        news = {place: ends[place] for place in loans if ends[place] > loans[place].committed}
        if news:
            self._commit_offsets([TopicPartition(*place, end) for place, end in news.items()])
        for place, end in news.items():
            loans[place].committed = end
            if end >= loans[place].until:
                self._settle(place, read_on=end)

    def _commit_offsets(self, offsets: list[TopicPartition]) -> None:
        try:
            answers = self._consumer.commit(offsets=offsets, asynchronous=False)
        except KafkaException as failed:
            answers = []
            _explain(failed.args[0])
        for answer in answers:
            if answer.error:
                _explain(answer.error)

    def _rewind(self, starts: dict[Place, int]) -> None:
        for place, start in starts.items():
            loan = self._out.get(place)
            if loan:
                self._settle(place, read_on=min(start, loan.until))

    def _settle(self, place: Place, *, read_on: int) -> None:
        loan = self._out.pop(place)
        was_paused = place in self._paused
        self._paused.discard(place)
        if was_paused:
            self._consumer.resume([TopicPartition(*place)])
        # After a resume in any case: it makes the library fetch now, and not within a second.
        if was_paused or read_on != loan.until:
            self._seek(place, read_on)

    def _seek(self, place: Place, offset: int) -> None:
        try:
            self._consumer.seek(TopicPartition(*place, offset))
        except KafkaException as failed:
            # Taken away a moment ago: then nobody needs to be told where to read on.
            log.debug("no seek in %s: %s", place, failed)


def _explain(problem: KafkaError) -> None:
    if problem.code() not in _NOT_OURS:
        raise BusUnavailable(f"Kafka did not take a commit: {problem.str()}")
    log.warning("a commit came too late and does not count: %s", problem.str())
