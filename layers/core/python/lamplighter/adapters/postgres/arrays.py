"""Whole columns as one parameter: PostgreSQL's binary arrays, packed by hand.

psycopg asks of every list element what it is; for a batch of a thousand rows in twenty columns that
costs more than the insert. Here the caller names the type once, and equal values are packed once.
"""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from struct import pack
from typing import Any
from uuid import UUID

import msgspec
from psycopg import Connection
from psycopg.adapt import Dumper
from psycopg.pq import Format

_NULL = b"\xff\xff\xff\xff"
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class PackedArray(bytes):
    """An array in wire format; subclasses name its type."""

    array_oid: int


class Uuids(PackedArray):
    array_oid = 2951


class Texts(PackedArray):
    array_oid = 1009


class Ints(PackedArray):
    array_oid = 1007


class Bigints(PackedArray):
    array_oid = 1016


class Bools(PackedArray):
    array_oid = 1000


class Instants(PackedArray):
    array_oid = 1185


class Jsons(PackedArray):
    array_oid = 3807


class ByteStrings(PackedArray):
    array_oid = 1001


def uuids(values: Iterable[UUID]) -> Uuids:
    items = [b"\0\0\0\x10" + value.int.to_bytes(16, "big") for value in values]
    return Uuids(_header(2950, len(items)) + b"".join(items))


def texts(values: Iterable[str | None]) -> Texts:
    return Texts(_pack_each(25, values, str.encode))


def ints(values: Iterable[int | None]) -> Ints:
    return Ints(_pack_each(23, values, lambda number: pack(">i", number)))


def bigints(values: Iterable[int | None]) -> Bigints:
    return Bigints(_pack_each(20, values, lambda number: pack(">q", number)))


def bools(values: Iterable[bool]) -> Bools:
    return Bools(_pack_each(16, values, lambda flag: b"\1" if flag else b"\0"))


def instants(values: Iterable[datetime | None]) -> Instants:
    return Instants(_pack_each(1184, values, lambda at: pack(">q", (at - _EPOCH) // _MICROSECOND)))


def byte_strings(values: Iterable[bytes | None]) -> ByteStrings:
    return ByteStrings(_pack_each(17, values, bytes))


def jsons(values: Iterable[Any]) -> Jsons:
    """JSON documents; None is SQL's null, not JSON's."""
    encode = msgspec.json.encode
    items = [_NULL if value is None else _sized(b"\1" + encode(value)) for value in values]
    return Jsons(_header(3802, len(items)) + b"".join(items))


def column(pack: Callable[[Iterable[Any]], PackedArray], values: Iterable[Any]) -> PackedArray:
    """To be unnested beside a column of keys: if all are null it is empty, and unnest fills up."""
    listed = list(values)
    is_empty = listed[:1] == [None] and listed.count(None) == len(listed)
    return pack(() if is_empty else listed)


def _pack_each(oid: int, values: Iterable[Any], encode: Callable[[Any], bytes]) -> bytes:
    listed = list(values)
    known = {each: _sized(encode(each)) for each in set(listed) if each is not None}
    known[None] = _NULL
    return _header(oid, len(listed)) + b"".join(map(known.__getitem__, listed))


def _sized(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


def _header(oid: int, length: int) -> bytes:
    """One dimension, nulls allowed, counted from one; an empty array has no dimension at all."""
    if length == 0:
        return pack(">iiI", 0, 0, oid)
    return pack(">iiIii", 1, 1, oid, length, 1)


def register(conn: Connection[Any]) -> None:
    for kind in (Uuids, Texts, Ints, Bigints, Bools, Instants, Jsons, ByteStrings):
        conn.adapters.register_dumper(kind, _dumper_of(kind))


def _dumper_of(kind: type[PackedArray]) -> type[Dumper]:
    class PackedDumper(Dumper):
        format = Format.BINARY
        oid = kind.array_oid

        def dump(self, obj: PackedArray) -> bytes:
            return obj

    return PackedDumper
