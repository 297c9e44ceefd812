"""All or nothing in memory: a call that fails halfway leaves no trace, whatever it had done."""

from typing import Any

import pytest

from lamplighter.adapters.memory.books import Books
from lamplighter.adapters.memory.journal import Journal, Table
from lamplighter.adapters.memory.ledger import MemoryLedger
from tests.adapters.ledger.builders import following, hourly, one_off
from tests.adapters.ledger.play import Play


def test_what_was_set_changed_and_removed_is_put_back() -> None:
    journal = Journal()
    table: Table[str, int] = Table(journal)
    table["kept"], table["changed"], table["removed"] = 1, 2, 3
    journal.forget()
    table["changed"], table["new"] = 20, 4
    del table["removed"]
    table["removed"] = 30
    del table["new"]
    journal.undo()
    assert dict(table) == {"kept": 1, "changed": 2, "removed": 3}


def test_what_was_forgotten_is_not_undone() -> None:
    journal = Journal()
    table: Table[str, int] = Table(journal)
    table["done"] = 1
    journal.forget()
    journal.undo()
    assert dict(table) == {"done": 1}


def snapshot(books: Books) -> dict[str, Any]:
    tables = {name: dict(table) for name, table in vars(books).items() if isinstance(table, Table)}
    runs_of = {key: dict(each) for key, each in books.runs_of.items() if each}
    return tables | {"runs_of": runs_of}


def lively() -> Play:
    """A ledger in which every table has something to lose."""
    play = Play(MemoryLedger())
    upstream = hourly(play.at(-1), max_concurrency=1, ordering_key="k")
    play.submit(upstream, following(upstream), one_off(play.at(-0.5), ordering_key="k"))
    play.start(play.only_run(upstream))
    play.lease()
    return play


class Broken(BaseException):
    """Not an Exception: even an interrupt leaves nothing half done."""


@pytest.mark.parametrize("after", range(1, 16))
def test_a_call_that_breaks_at_any_write_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    play = lively()
    books = play.ledger._books  # type: ignore[attr-defined]
    upstream = one_off(play.at(-1), ordering_key="k")
    batch = [upstream, following(upstream), hourly(play.at(60), ordering_key="k")]
    before, writes = snapshot(books), 0
    write = Table.__setitem__

    def breaking(table: Table[Any, Any], key: Any, row: Any) -> None:
        nonlocal writes
        writes += 1
        if writes == after:
            raise Broken
        write(table, key, row)

    monkeypatch.setattr(Table, "__setitem__", breaking)
    with pytest.raises(Broken):
        play.submit(*batch)
    monkeypatch.undo()
    assert snapshot(books) == before
    assert len(play.submit(*batch).created) == 3
