"""The names of everything that the bus keeps in Valkey.

All share one hash tag: scripts and blocking reads name several keys at once, and a cluster allows
that only within one slot. So this bus has one shard's speed; one that needs more is Kafka.
"""

from functools import cache
from typing import Final

TAG: Final = "{bus}"
TOPICS: Final = f"{TAG}:topics"


def seen(shipment: str) -> str:
    return f"{TAG}:seen:{shipment}"


def ends(topic: str) -> str:
    return f"{TAG}:ends:{topic}"


@cache  # asked for in every read, of every partition
def log(topic: str, partition: int) -> str:
    return f"{TAG}:log:{topic}:{partition}"


def committed(topic: str) -> str:
    return f"{TAG}:committed:{topic}"


def groups(topic: str) -> str:
    return f"{TAG}:groups:{topic}"


def members(group: str, topic: str) -> str:
    return f"{TAG}:members:{topic}:{group}"


def owners(group: str, topic: str) -> str:
    return f"{TAG}:owners:{topic}:{group}"


def changes(group: str) -> str:
    return f"{TAG}:changes:{group}"
