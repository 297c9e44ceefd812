"""Ids that carry their meaning: a run's key is its time, a job's key can be derived.

A run id is 48 bits of the fire's epoch milliseconds (the layout of UUIDv7), then 74 bits of a
hash. Two watchers that see the same fire write the same id; ids sort as fires do; and "what is due"
is a range of the primary key.
"""

import hashlib
import secrets
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from uuid import UUID, SafeUUID

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)
BY_SCHEDULE = "schedule"

_VERSION_7 = 0x7 << 76
_VERSION_8 = 0x8 << 76
_VARIANT = 0b10 << 62
_LOW_62 = (1 << 62) - 1
_HIGH_12 = 0xFFF << 62
_LAST_MS = (1 << 48) - 1
_set_int, _set_is_safe = (vars(UUID)[name].__set__ for name in ("int", "is_safe"))


def epoch_ms(instant: datetime) -> int:
    return (instant - EPOCH) // MILLISECOND


@lru_cache(maxsize=65_536)
def instant_of(ms: int) -> datetime:
    return EPOCH + ms * MILLISECOND


def run_id(job_id: UUID, fire: datetime, pool: str, origin: str = BY_SCHEDULE) -> UUID:
    """The one id of this fire of this job in this pool, whoever computes it, however often."""
    head, name = _named(fire, pool, origin)
    digest = hashlib.sha256(job_id.bytes + name).digest()
    rest = int.from_bytes(digest[:10], "big")
    return _uuid(head | (rest & _HIGH_12) << 2 | rest & _LOW_62)


@lru_cache(maxsize=4096)
def _named(fire: datetime, pool: str, origin: str) -> tuple[int, bytes]:
    """What the runs of one fire have in common: a herd of them asks for it once."""
    ms = epoch_ms(fire)
    return _compose(ms, 0, _VERSION_8).int, f"{ms}\0{pool}\0{origin}".encode()


def fire_of(run: UUID) -> datetime:
    return instant_of(run.int >> 80)


def first_run_id(fire: datetime) -> UUID:
    """A bound: no run of this millisecond or a later one sorts before it."""
    return UUID(int=epoch_ms(fire) << 80)


def new_job_id(now: datetime) -> UUID:
    """A fresh job id (UUIDv7): time first, so that neighbours in time are neighbours on disk."""
    return new_job_ids(now, 1)[0]


def new_job_ids(now: datetime, count: int) -> list[UUID]:
    """So many of them. The system is asked for chance once: other threads run at each question."""
    ms, drawn = epoch_ms(now), secrets.token_bytes(10 * count)
    chances = (int.from_bytes(drawn[at : at + 10], "big") for at in range(0, 10 * count, 10))
    return [_compose(ms, chance, _VERSION_7) for chance in chances]


def derived_job_id(tenant: str, idempotency_key: str) -> UUID:
    """The job id of a submission that names a key: a retry on any path makes the same one."""
    named = f"{tenant}\0{idempotency_key}".encode()
    value = int.from_bytes(hashlib.sha256(named).digest()[:16], "big")
    return _compose(value >> 80, value, _VERSION_8)


def _compose(ms: int, rest: int, version: int) -> UUID:
    """48 bits of time, the version, 12 bits, the variant, 62 bits: 74 bits of `rest` survive."""
    if not 0 <= ms <= _LAST_MS:
        raise ValueError("an id holds instants from 1970 to 10889; this one is outside")
    return _uuid(ms << 80 | version | (rest & _HIGH_12) << 2 | _VARIANT | rest & _LOW_62)


def _uuid(value: int) -> UUID:
    """UUID's own constructor checks what is known here, and costs more than all the rest."""
    made = object.__new__(UUID)
    _set_int(made, value)
    _set_is_safe(made, SafeUUID.unknown)
    return made
