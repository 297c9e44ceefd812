"""A member of a group on Valkey Streams.

Two threads: the caller's polls; one of our own attends, so that a handler of any length keeps its
partitions, and what lies idle goes to those who join.
"""

import logging
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import uuid4

from lamplighter.adapters.streams import keys
from lamplighter.adapters.streams.holdings import Holding, Holdings
from lamplighter.adapters.streams.membership import Membership
from lamplighter.adapters.streams.server import AWAY, Server
from lamplighter.ports.bus import BusUnavailable, Place, Record, ends, starts

log: Final = logging.getLogger("lamplighter.streams")

# Entries of each partition per read. One may be as large as a message may be.
_ENTRIES: Final = 16
# While a handler may settle a partition at any moment, a read looks that often; else it may rest.
_LOOK_SECONDS: Final = 0.01
_REST_SECONDS: Final = 2.0
_AWAY_SECONDS: Final = 0.1


class StreamsConsumer:
    def __init__(
        self,
        server: Server,
        group: str,
        topics: Mapping[str, int],
        *,
        session_seconds: float,
        handling_seconds: float,
    ) -> None:
        self._server = server
        self._membership = Membership(
            server, group, uuid4().hex, topics, session_seconds=session_seconds
        )
        self._holdings = Holdings()
        self._changes = keys.changes(group)
        self._last_change = b"0-0"
        self._handling_seconds = handling_seconds
        self._attending = threading.Lock()
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._absent = False
        # Before anything is read: whatever is published from now on is kept for this group.
        self._attend()
        self._attendant = threading.Thread(
            target=self._keep_attending,
            args=[session_seconds / 3],
            name=f"bus {group}",
            daemon=True,
        )
        self._attendant.start()

    def poll(self, max_records: int, timeout: float) -> list[Record]:
        deadline = time.monotonic() + timeout
        if self._absent:
            self._try_to_attend()
        while not (records := self._take(max_records)):
            left = max(0.0, deadline - time.monotonic())
            self._read(left)
            if not left:
                return self._take(max_records)
        return records

    def commit(self, records: Sequence[Record]) -> None:
        done = ends(records)
        with self._lock:
            marks = self._holdings.marks(done)
        ours = {place: end for place, end in done.items() if place in marks}
        if self._membership.commit(ours, marks) < len(done):
            log.warning("a commit came too late and does not count: its partition was taken")
            self._try_to_attend()
        with self._lock:
            self._holdings.committed(ours)

    def rewind(self, records: Sequence[Record]) -> None:
        with self._lock:
            self._holdings.rewind(starts(records))

    def close(self) -> None:
        self._closed.set()
        self._attendant.join()
        try:
            self._membership.leave()
        except BusUnavailable as away:
            log.warning("left a group without saying so: %s", away)
        self._server.close()

    def _take(self, most: int) -> list[Record]:
        with self._lock:
            return self._holdings.take(most)

    def _read(self, left: float) -> None:
        with self._lock:
            asked = self._holdings.to_read()
            patience = _LOOK_SECONDS if self._holdings.any_out() else _REST_SECONDS
        names = {keys.log(*place): place for place in asked}
        try:
            found = self._read_streams(asked, min(left, patience))
        except AWAY as away:
            # The server comes back, and then everything goes on.
            log.debug("nothing read: %s", away)
            self._closed.wait(min(left, _AWAY_SECONDS))
            return
        for name, entries in found:
            if name.decode() == self._changes:
                self._last_change = entries[-1][0]
                self._try_to_attend()
            else:
                place = names[name.decode()]
                with self._lock:
                    self._holdings.add(place, asked[place], entries)

    def _read_streams(self, asked: Mapping[Place, Holding], patience: float) -> Any:
        streams: dict[Any, Any] = {self._changes: self._last_change}
        for place, holding in asked.items():
            streams[keys.log(*place)] = f"0-{holding.read_to}"
        # Zero would be forever.
        return self._server.client.xread(streams, _ENTRIES, max(1, int(patience * 1000)))

    def _attend(self) -> None:
        with self._attending:
            attendances = self._membership.attend()
            with self._lock:
                self._absent = False
                self._holdings.update(attendances)
                surplus: dict[Place, str] = {}
                for attendance in attendances:
                    surplus |= self._holdings.at_rest(attendance)
                self._holdings.drop(surplus)
            if surplus:
                self._membership.release(surplus)

    def _try_to_attend(self) -> None:
        """If not now, then at the next turn: the session is several of them long."""
        try:
            self._attend()
        except BusUnavailable as away:
            log.debug("not attending: %s", away)

    def _keep_attending(self, interval: float) -> None:
        while not self._closed.wait(interval):
            try:
                self._attend_or_leave()
            except BusUnavailable as away:
                log.debug("not attending: %s", away)

    def _attend_or_leave(self) -> None:
        with self._lock:
            overdue = self._holdings.overdue(self._handling_seconds)
        if overdue:
            log.warning("a handler took longer than %s s: left the group", self._handling_seconds)
            with self._attending:
                self._membership.leave()
                with self._lock:
                    self._absent = True
                    self._holdings.drop_all()
        elif not self._absent:
            self._attend()
