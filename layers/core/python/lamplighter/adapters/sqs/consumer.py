"""A reader of some queues. What it has in hand stays hidden from others while it lives.

The caller's thread polls; others of ours wait for SQS's answers; one more keeps what is in hand
hidden. There is no group to join: all readers of a queue share what comes.
"""

import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import cycle
from typing import Any, Final

import msgspec

from lamplighter.adapters.sqs.calls import MOST_ENTRIES, Calls, log, translated
from lamplighter.adapters.sqs.holdings import Held, Holdings
from lamplighter.adapters.sqs.settling import Handle, Settling
from lamplighter.contracts.sqs import Attribute, as_dead_letter, pause_seconds, unwrap
from lamplighter.contracts.topics import DEAD_LETTERS
from lamplighter.domain.errors import LamplighterError
from lamplighter.ports.bus import Record, starts

# The longest that one call waits: less than a client's patience, and what one who leaves may still
# be given.
_WAIT_SECONDS: Final = 2
# What came when nobody asked any more goes back to others after that.
_LIE_SECONDS: Final = 1.0
_LOOK_SECONDS: Final = 0.5
_AWAY_SECONDS: Final = 0.2
_SETTLE_SECONDS: Final = 5.0
_THREADS: Final = 16


class SqsConsumer:
    def __init__(
        self,
        client: Any,
        urls: Mapping[str, str],
        *,
        session_seconds: float,
        handling_seconds: float,
    ) -> None:
        self._client = client
        self._urls = urls
        self._session_seconds = session_seconds
        self._handling_seconds = handling_seconds
        self._hidden_seconds = max(1, math.ceil(session_seconds))
        self._holdings = Holdings()
        self._calls = Calls("sqs consumer", len(urls) + _THREADS)
        self._settling = Settling(client, urls, self._calls)
        self._asked: set[str] = set()
        self._polling = False
        self._closed = threading.Event()
        self._keeper = threading.Thread(target=self._keep, name="sqs keeper", daemon=True)
        self._keeper.start()

    def poll(self, max_records: int, timeout: float) -> list[Record]:
        self._polling = True
        try:
            records = fresh = self._first(max_records, time.monotonic() + timeout)
            # Full hands: there is more where that came from.
            while len(fresh) >= MOST_ENTRIES and len(records) < max_records:
                topics = sorted({each.topic for each in fresh})
                fresh = self._more(topics, max_records - len(records))
                records += fresh
            return records
        finally:
            self._polling = False

    def commit(self, records: Sequence[Record]) -> None:
        """These, and no others: nothing lies before them where nothing has an order."""
        done = self._holdings.of(records)
        self._settling.delete([_handle(each) for each in done], _soon())
        self._holdings.forget(done)

    def rewind(self, records: Sequence[Record]) -> None:
        """What SQS does not take back now comes by itself when the session is over."""
        self._let_go(
            self._holdings.from_on(starts(records)), lambda each: pause_seconds(each.receives)
        )

    def close(self) -> None:
        with self._holdings.changed:
            self._closed.set()
        self._keeper.join()
        self._let_go(self._holdings.everything())
        self._calls.close()

    def _first(self, most: int, deadline: float) -> list[Record]:
        while not (records := self._holdings.take(most)):
            left = deadline - time.monotonic()
            asked = self._ask(min(MOST_ENTRIES, most), left)
            with self._holdings.changed:
                if left <= 0:
                    # Asked without a wait: their answers are a moment away.
                    answered = partial(asked.isdisjoint, self._asked)
                    self._holdings.changed.wait_for(answered, _LOOK_SECONDS)
                    return self._holdings.take(most)
                if not self._holdings.any_untold():
                    self._holdings.changed.wait(left)
        return records

    def _ask(self, most: int, left: float) -> set[str]:
        """All queues that have no question open. Those that have may answer any moment."""
        seconds = min(_WAIT_SECONDS, math.ceil(max(0.0, left)))
        with self._holdings.changed:
            free = self._urls.keys() - self._asked
            self._asked |= free
        for topic in free:
            self._calls.start(partial(self._receive_or_rest, topic, most, seconds))
        return set(free)

    def _receive_or_rest(self, topic: str, most: int, seconds: int) -> None:
        try:
            self._receive(topic, most, seconds)
        except LamplighterError as away:
            # It comes back, and then everything goes on.
            log.debug("nothing received: %s", away)
            self._closed.wait(_AWAY_SECONDS)
        finally:
            with self._holdings.changed:
                self._asked.discard(topic)
                self._holdings.changed.notify_all()

    def _more(self, topics: Sequence[str], most: int) -> list[Record]:
        """Of the queues that had something, without waiting, by several calls at once."""
        sizes = [MOST_ENTRIES] * (most // MOST_ENTRIES) + [most % MOST_ENTRIES]
        receive = [
            partial(self._receive, topic, size, 0)
            for topic, size in zip(cycle(topics), sizes[:_THREADS], strict=False)
            if size
        ]
        try:
            self._calls.each(receive, _soon())
        except LamplighterError as away:
            log.debug("no more received: %s", away)
        return self._holdings.take(most)

    def _receive(self, topic: str, most: int, seconds: int) -> None:
        with translated():
            answer = self._client.receive_message(
                QueueUrl=self._urls[topic],
                MaxNumberOfMessages=most,
                WaitTimeSeconds=seconds,
                VisibilityTimeout=self._hidden_seconds,
                MessageAttributeNames=["All"],
                MessageSystemAttributeNames=["SentTimestamp", "ApproximateReceiveCount"],
            )
        received = [self._held(topic, message) for message in answer.get("Messages", [])]
        with self._holdings.changed:
            if not self._closed.is_set():
                self._holdings.add(received)
                return
        if received:  # too late: we have left, and others wait for them
            self._settling.show_some([_handle(each) for each in received], _soon())

    def _held(self, topic: str, message: Mapping[str, Any]) -> Held:
        system = message["Attributes"]
        attributes = {
            name: Attribute(each.get("StringValue"), each.get("BinaryValue"))
            for name, each in message.get("MessageAttributes", {}).items()
        }
        sent_ms, offset = int(system["SentTimestamp"]), self._holdings.next_offset()
        record = unwrap(message["Body"], attributes, sent_ms, offset, topic)
        if record.topic != topic:
            record = _moved(record, topic)
        now = time.monotonic()
        receives = int(system["ApproximateReceiveCount"])
        return Held(record, message["ReceiptHandle"], receives, now, now)

    def _keep(self) -> None:
        """Say in time, and again and again, that what is in hand is still being handled."""
        while not self._closed.wait(min(_LOOK_SECONDS, self._session_seconds / 4)):
            stuck = self._holdings.older(self._handling_seconds, told=True)
            if stuck:
                log.warning("%d messages took longer than %s s", len(stuck), self._handling_seconds)
                self._holdings.forget(stuck)
            if not self._polling:
                self._let_go(self._holdings.older(_LIE_SECONDS, told=False))
            due = self._holdings.to_renew(self._session_seconds / 3)
            self._show(due, lambda _: self._hidden_seconds)

    def _let_go(self, some: Sequence[Held], pause: Callable[[Held], int] = lambda _: 0) -> None:
        self._holdings.forget(some)
        self._show(some, pause)

    def _show(self, some: Sequence[Held], seconds: Callable[[Held], int]) -> None:
        try:
            self._settling.show([_handle(each, seconds(each)) for each in some], _soon())
        except LamplighterError as away:
            log.debug("%d messages stay hidden for as long as they are: %s", len(some), away)


def _moved(record: Record, queue: str) -> Record:
    """From another queue, by SQS itself or by hand."""
    if queue == DEAD_LETTERS.name:
        return as_dead_letter(record)
    return msgspec.structs.replace(record, topic=queue)


def _handle(held: Held, seconds: int = 0) -> Handle:
    return Handle(held.record.topic, held.handle, seconds)


def _soon() -> float:
    return time.monotonic() + _SETTLE_SECONDS
