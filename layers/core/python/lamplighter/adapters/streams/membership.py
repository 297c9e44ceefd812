"""A member's place in its group: it says that it lives, and learns which partitions are its own."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar
from zlib import crc32

import msgspec

from lamplighter.adapters.streams import keys
from lamplighter.adapters.streams.server import Server, translated
from lamplighter.ports.bus import Place

T = TypeVar("T")


class Grant(msgspec.Struct, frozen=True):
    """A partition that is ours under this mark; whoever has it next has another."""

    place: Place
    mark: str
    committed: int


class Attendance(msgspec.Struct, frozen=True):
    """What is ours of one topic, and how many of these others are waiting for."""

    grants: Sequence[Grant]
    surplus: int


class Membership:
    def __init__(
        self,
        server: Server,
        group: str,
        member: str,
        topics: Mapping[str, int],
        *,
        session_seconds: float,
    ) -> None:
        self._server = server
        self._group = group
        self._member: Final = member
        self._topics = topics
        self._session_ms = int(session_seconds * 1000)

    def attend(self) -> list[Attendance]:
        """One for each topic. Takes partitions that are free, up to this member's share."""
        names = [keys.changes(self._group)]
        arguments: list[str | int] = [self._group, self._member, self._session_ms]
        for topic, partitions in self._topics.items():
            names += [keys.members(self._group, topic), keys.owners(self._group, topic)]
            names += [keys.committed(topic), keys.groups(topic)]
            # Another turn for each topic, or the first member would have the odd one of them all.
            arguments += [partitions, crc32(topic.encode()) % 1000]
        with translated("renew a consumer's place in its group"):
            answers = self._server.run("attend", names, arguments)
        return [_attendance(*each) for each in zip(self._topics, answers, strict=True)]

    def release(self, grants: Mapping[Place, str]) -> None:
        """Give up partitions, named with their marks."""
        with translated("release partitions"):
            for topic, marks in _by_topic(grants).items():
                names = [keys.owners(self._group, topic), keys.changes(self._group)]
                flat = [each for pair in marks.items() for each in pair]
                self._server.run("release", names, flat)

    def leave(self) -> None:
        with translated("leave a group"):
            for topic in self._topics:
                names = [
                    keys.members(self._group, topic),
                    keys.owners(self._group, topic),
                    keys.changes(self._group),
                ]
                self._server.run("leave", names, [self._member])

    def commit(self, ends: Mapping[Place, int], marks: Mapping[Place, str]) -> int:
        """How many of these partitions were still ours, and are now done up to there."""
        counted = 0
        with translated("commit"):
            for topic, offsets in _by_topic(ends).items():
                names = [
                    keys.owners(self._group, topic),
                    keys.committed(topic),
                    keys.groups(topic),
                    *(keys.log(topic, number) for number in offsets),
                ]
                arguments: list[str | int] = [self._group]
                for number, end in offsets.items():
                    arguments += [number, marks[topic, number], end]
                counted += self._server.run("commit", names, arguments)
        return counted


def _attendance(topic: str, answer: list[Any]) -> Attendance:
    surplus, *flat = answer
    grants = [
        Grant((topic, number), mark.decode(), committed)
        for number, mark, committed in zip(flat[::3], flat[1::3], flat[2::3], strict=True)
    ]
    return Attendance(grants, surplus)


def _by_topic(places: Mapping[Place, T]) -> dict[str, dict[int, T]]:
    found: dict[str, dict[int, T]] = {}
    for (topic, number), value in places.items():
        found.setdefault(topic, {})[number] = value
    return found
