"""How runs travel to the scripts and back: small, and as few strings as can be.

A body is "fence:priority:pool:tenant". Most runs of a batch share one, so a batch is a few bodies,
each with one packed string of all its runs.
"""

import struct
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import TypeVar
from urllib.parse import quote, unquote
from uuid import UUID, SafeUUID

from lamplighter.domain.ids import epoch_ms
from lamplighter.domain.ordering import score
from lamplighter.domain.run import Due
from lamplighter.ports.queue import Ready

T = TypeVar("T")

_WAITING = struct.Struct(">d16s")
_READY = struct.Struct(">H16s")


@lru_cache(maxsize=65_536)
def body_of(fence: int, priority: int, pool: str, tenant: str) -> bytes:
    return f"{fence}:{priority}:{quoted(pool)}:{quoted(tenant)}".encode()


@lru_cache(maxsize=65_536)
def fields_of(body: bytes) -> tuple[int, int, str, str]:
    """Fence, priority, pool and tenant."""
    fence, priority, pool, tenant = body.decode().split(":")
    return int(fence), int(priority), unquote(pool), unquote(tenant)


def quoted(name: str) -> str:
    """Without colons, which separate names in keys and bodies."""
    return quote(name, safe="")


def chunks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    rest = iter(items)
    while chunk := list(islice(rest, size)):
        yield chunk


def pack_waiting(runs: Sequence[Due], *, most_runs: int, most_bodies: int) -> Iterator[list[bytes]]:
    """Body, runs, body, runs … as many calls as the limits ask for. A run: its score, its id."""
    packed: dict[bytes, list[bytes]] = {}
    for run in runs:
        body = body_of(run.fence, run.priority, run.pool, run.tenant)
        ranks_at = score(run.priority, epoch_ms(run.due_at))
        packed.setdefault(body, []).append(_WAITING.pack(ranks_at, run.run_id.bytes))
    call: dict[bytes, list[bytes]] = {}
    room = most_runs
    for body, rows in packed.items():
        for part in chunks(rows, most_runs):
            if len(part) > room or len(call) == most_bodies or body in call:
                yield _flat(call)
                call, room = {}, most_runs
            call[body] = part
            room -= len(part)
    if call:
        yield _flat(call)


def pack_ready(runs: Sequence[Ready]) -> list[bytes]:
    """Body, ids, body, ids …"""
    packed: dict[bytes, list[bytes]] = {}
    for run in runs:
        body = body_of(run.fence, run.priority, run.pool, run.tenant)
        packed.setdefault(body, []).append(run.run_id.bytes)
    return _flat(packed)


def _flat(packed: dict[bytes, list[bytes]]) -> list[bytes]:
    return [part for body, runs in packed.items() for part in (body, b"".join(runs))]


def unpack_ready(bodies: Sequence[bytes], packed: bytes) -> list[Ready]:
    """The answer of lua/tick.lua."""
    fields = [fields_of(body) for body in bodies]
    return [Ready(_uuid(run), *fields[number]) for number, run in _READY.iter_unpack(packed)]


def member_to_ready(member: bytes) -> Ready:
    """A member of `in_flight`: run id, then body."""
    return Ready(_uuid(member[:16]), *fields_of(member[16:]))


def _uuid(raw: bytes) -> UUID:
    """As UUID(bytes=raw), without its checks, which cost more than all else that is done here."""
    made = object.__new__(UUID)
    object.__setattr__(made, "int", int.from_bytes(raw, "big"))
    object.__setattr__(made, "is_safe", SafeUUID.unknown)
    return made
