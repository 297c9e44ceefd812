"""Columns packed by hand mean to the server what psycopg's own lists mean."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from psycopg.types.json import Jsonb

from infra.local.postgres import Postgres
from lamplighter.adapters.postgres import arrays

Conn = psycopg.Connection[tuple[Any, ...]]

# PostgreSQL's text has no zero character; its json neither, nor a lone surrogate.
words = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)
whole = st.integers(-(2**31), 2**31 - 1)
moments = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC))  # noqa: DTZ001 - hypothesis wants bare bounds and adds the zone
documents = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | words,
    lambda part: st.lists(part, max_size=3) | st.dictionaries(words, part, max_size=3),
    max_leaves=5,
)

Pack = Callable[[Any], arrays.PackedArray]
KINDS: dict[str, tuple[Pack, SearchStrategy[Any]]] = {
    "uuid": (arrays.uuids, st.uuids()),
    "text": (arrays.texts, st.none() | words),
    "integer": (arrays.ints, st.none() | whole),
    "bigint": (arrays.bigints, st.none() | st.integers(-(2**63), 2**63 - 1)),
    "boolean": (arrays.bools, st.booleans()),
    "timestamptz": (arrays.instants, st.none() | moments),
    "bytea": (arrays.byte_strings, st.none() | st.binary(max_size=20)),
}


@pytest.fixture(scope="module")
def packing(postgres_server: Postgres) -> Iterator[Conn]:
    with psycopg.connect(postgres_server.url, autocommit=True) as conn:
        arrays.register(conn)
        conn.execute("SET timezone TO 'UTC'")
        yield conn


@pytest.mark.parametrize("kind", KINDS)
def test_a_packed_column_is_what_psycopgs_own_list_is(packing: Conn, kind: str) -> None:
    pack, values = KINDS[kind]
    query = f"SELECT %(packed)s, %(packed)s IS NOT DISTINCT FROM %(listed)s::{kind}[]".encode()

    @settings(max_examples=100, deadline=None)
    @given(st.lists(values, max_size=8))
    def check(column: list[Any]) -> None:
        given = {"packed": pack(column), "listed": column}
        [(read, is_same)] = packing.execute(query, given, binary=True).fetchall()
        assert read == column
        assert is_same

    check()


def test_packed_documents_are_what_psycopgs_own_are(packing: Conn) -> None:
    query = "SELECT %(packed)s, %(packed)s IS NOT DISTINCT FROM %(listed)s::jsonb[]"

    @settings(max_examples=200, deadline=None)
    @given(st.lists(documents, max_size=5))
    def check(column: list[Any]) -> None:
        listed = [None if each is None else Jsonb(each) for each in column]
        given = {"packed": arrays.jsons(column), "listed": listed}
        [(read, is_same)] = packing.execute(query, given).fetchall()
        assert read == column
        assert is_same

    check()


@pytest.mark.parametrize("kind", [*KINDS, "jsonb"])
def test_an_empty_column_is_an_empty_array_of_its_type(packing: Conn, kind: str) -> None:
    pack = KINDS[kind][0] if kind in KINDS else arrays.jsons
    query = "SELECT pg_typeof(%(column)s)::text, cardinality(%(column)s)"
    [(type_name, length)] = packing.execute(query, {"column": pack([])}).fetchall()
    named = {"timestamptz": "timestamp with time zone"}.get(kind, kind)
    assert (type_name, length) == (f"{named}[]", 0)


@pytest.mark.parametrize("kind", ["text", "integer", "timestamptz", "bytea", "jsonb"])
def test_a_column_of_nulls_is_all_null(packing: Conn, kind: str) -> None:
    pack = KINDS[kind][0] if kind in KINDS else arrays.jsons
    query = "SELECT cardinality(%(c)s), count(v) FROM unnest(%(c)s) AS v GROUP BY 1"
    assert packing.execute(query, {"c": pack([None] * 3)}).fetchall() == [(3, 0)]


def test_columns_of_one_statement_line_up_row_by_row(packing: Conn) -> None:
    query = "SELECT * FROM unnest(%(names)s, %(numbers)s, %(flags)s)"
    given = {
        "names": arrays.texts(["a", None, "a"]),
        "numbers": arrays.ints([1, 2, None]),
        "flags": arrays.bools([True, False, True]),
    }
    rows = [("a", 1, True), (None, 2, False), ("a", None, True)]
    assert packing.execute(query, given).fetchall() == rows


def test_a_column_of_nulls_beside_keys_is_sent_empty_and_filled_up(packing: Conn) -> None:
    nulls, mixed = arrays.column(arrays.texts, [None] * 2), arrays.column(arrays.ints, [None, 5])
    assert (nulls, mixed) == (arrays.texts([]), arrays.ints([None, 5]))

    given = {"keys": arrays.ints([1, 2]), "nulls": nulls, "mixed": mixed}
    for query in (
        "SELECT unnest(%(keys)s), unnest(%(nulls)s), unnest(%(mixed)s)",
        "SELECT * FROM unnest(%(keys)s, %(nulls)s, %(mixed)s)",
    ):
        assert packing.execute(query, given).fetchall() == [(1, None, None), (2, None, 5)]
