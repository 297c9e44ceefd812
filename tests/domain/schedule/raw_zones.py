"""Transitions read straight from the compiled tz database, by RFC 8536."""

import struct
from functools import lru_cache
from importlib import resources
from typing import NamedTuple
from zoneinfo import ZoneInfo


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
    """Every change of the offset that is listed (not those that the footer's rule implies)."""
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
    return tuple(found)
