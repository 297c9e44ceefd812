"""A ledger that explains every statement just before it runs it, with the parameters it runs with.

EXPLAIN ANALYZE carries the statement out, so it happens in a transaction that is rolled back.
"""

import re
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import msgspec
from psycopg import Cursor

from lamplighter.adapters import postgres
from lamplighter.adapters.postgres import alone
from lamplighter.adapters.postgres.database import Row
from lamplighter.adapters.postgres.ledger import PostgresLedger
from lamplighter.adapters.postgres.queries import queries
from lamplighter.adapters.postgres.submit import _INSERT_FRESH
from tests.adapters.postgres.watched import WatchedDatabase

_EXPLAIN = b"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) "
_DAY = re.compile(rb"(retired_)?job_runs_\d{8}")
_SCANS = ("Seq Scan", "Index Scan", "Index Only Scan", "Bitmap Heap Scan", "Tid Scan")


class Node(msgspec.Struct, frozen=True):
    """A part of a plan that touches a table, and did so when it ran."""

    kind: str
    table: str
    index: str | None = None
    wasted: float = 0  # rows that it read in vain

    @property
    def day(self) -> str | None:
        """Of a partition: its day."""
        name, _, day = self.table.rpartition("_")
        return day if name == "job_runs" else None


class Plan(msgspec.Struct, frozen=True):
    query: str  # file.name
    nodes: tuple[Node, ...]
    planning_ms: float

    @property
    def days(self) -> set[str]:
        return {node.day for node in self.nodes if node.day is not None}

    @property
    def seq_scans(self) -> set[str]:
        """Tables read from end to end; partitions under the ledger's name."""
        scanned = [node for node in self.nodes if node.kind == "Seq Scan"]
        return {"job_runs" if node.day else node.table for node in scanned}


def all_queries() -> dict[bytes, str]:
    """Every statement of the adapter, with the name under which it stands in its file."""
    folder = files(postgres) / "sql"
    names = sorted(each.name.removesuffix(".sql") for each in folder.iterdir())
    return {body: f"{file}.{name}" for file in names for name, body in queries(file).items()}


_NAMES = all_queries() | {
    _INSERT_FRESH: "submit.insert_fresh",
    alone.CLAIM: "alone.claim",
    alone.FINISH: "alone.finish",
}


class _ExplainingCursor(Cursor[Row]):
    plans: list[Plan]

    def execute(self, query: Any, params: Any = None, **options: Any) -> "_ExplainingCursor":
        name = _NAMES.get(_DAY.sub(b"job_runs", query)) if isinstance(query, bytes) else None
        if name is not None and name != "partitions.lock_partitions":
            self.plans.append(self._explain(name, query, params))
        return super().execute(query, params, **options)

    def _explain(self, name: str, query: bytes, params: Any) -> Plan:
        with self.connection.transaction(force_rollback=True):
            rows = Cursor(self.connection).execute(_EXPLAIN + query, params).fetchall()
        [[[explained]]] = rows
        nodes = tuple(_touched(explained["Plan"]))
        return Plan(name, nodes, explained["Planning Time"])


def _touched(plan: dict[str, Any]) -> Iterator[Node]:
    """Only what was executed: a partition that run-time pruning left out has no loops."""
    if plan["Actual Loops"] and plan["Node Type"] in _SCANS:
        wasted = plan.get("Rows Removed by Filter", 0) * plan["Actual Loops"]
        yield Node(plan["Node Type"], plan["Relation Name"], plan.get("Index Name"), wasted)
    for child in plan.get("Plans", ()):
        yield from _touched(child)


class ExplainingLedger(PostgresLedger):
    """`plans` grows with every statement."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.plans: list[Plan] = []
        cursor = type("ExplainingCursor", (_ExplainingCursor,), {"plans": self.plans})
        self._db = WatchedDatabase(url, cursor)
