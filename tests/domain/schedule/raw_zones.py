"""Transitions read straight from the compiled tz database, by RFC 8536."""

import struct
from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache
from importlib import resources
from typing import NamedTuple
from zoneinfo import ZoneInfo

DAY = 86_400
END = 2_145_916_800  # 2038


class Change(NamedTuple):
    at: int
    before: int
    after: int


def raw(name: str) -> bytes:
    return resources.files("tzdata").joinpath("zoneinfo", *name.split("/")).read_bytes()


@lru_cache(maxsize=1024)
def pinned(name: str) -> ZoneInfo:
    """The zone by the pinned rules; the system's may be older."""
    with resources.files("tzdata").joinpath("zoneinfo", *name.split("/")).open("rb") as rules:
        return ZoneInfo.from_file(rules, key=name)


def header(data: bytes, at: int) -> tuple[int, ...]:
    return struct.unpack_from(">6l", data, at + 20)


@lru_cache(maxsize=1024)
def changes(name: str) -> tuple[Change, ...]:
    """Every change of the offset: those that are listed, then by the footer's rule up to 2038.

    The compiled files are slim: Berlin's list ends in 1996, and every night since is the rule's.
    """
    listed, last = _listed(name)
    return (*listed, *_by_rule(name, last))


def _listed(name: str) -> tuple[list[Change], int]:
    """The changes of the list, and the moment at which it ends."""
    data = raw(name)
    utc, std, leap, times, types, chars = header(data, 0)
    second = 44 + times * 5 + types * 6 + chars + leap * 8 + std + utc
    *_, times, types, _ = header(data, second)
    at = second + 44
    moments = struct.unpack_from(f">{times}q", data, at)
    kinds = struct.unpack_from(f">{times}B", data, at + times * 8)
    offsets = [struct.unpack_from(">l", data, at + times * 9 + 6 * i)[0] for i in range(types)]
    found, known = [], offsets[0]
    for moment, kind in zip(moments, kinds, strict=True):
        if offsets[kind] != known:
            found.append(Change(moment, known, offsets[kind]))
            known = offsets[kind]
    return found, moments[-1] if moments else 0


def _by_rule(name: str, last: int) -> Iterator[Change]:
    """A walk over every day after the list; a footer without a comma has one offset forever."""
    footer = raw(name).rstrip(b"\n").rpartition(b"\n")[2]
    if b"," not in footer:
        return
    known = _offset(name, last)
    for day in range(last + DAY, END + DAY, DAY):
        if (offset := _offset(name, day)) != known:
            at = _first_with(name, offset, day)
            if at < END:
                yield Change(at, known, offset)
            known = offset


def _first_with(name: str, offset: int, day: int) -> int:
    """The first second of the day before `day` that has the offset of its end."""
    low, high = day - DAY, day
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _offset(name, middle) == offset else (middle, high)
    return high


def _offset(name: str, utc: int) -> int:
    shift = datetime.fromtimestamp(utc, pinned(name)).utcoffset()
    assert shift is not None
    return int(shift.total_seconds())
