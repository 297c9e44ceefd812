"""docs/performance.md has a place for every benchmark, and only that place is written."""

import re

import pytest

from benchmarks import page
from benchmarks.registry import BENCHMARKS, selection
from benchmarks.sizes import QUICK, SIZES, numbers, words

PAGE = page.PAGE.read_text(encoding="utf-8")


def test_every_benchmark_has_a_place_and_every_place_a_benchmark() -> None:
    assert sorted(re.findall(r"<!-- bench (\w+) -->", PAGE)) == sorted(BENCHMARKS)


def test_only_its_place_is_written() -> None:
    before = "a\n<!-- bench herd -->\nold \\1\n<!-- /bench herd -->\nb\n<!-- bench dag -->"

    after = page.replaced(before, "herd", "new \\1")

    assert after == "a\n<!-- bench herd -->\nnew \\1\n<!-- /bench herd -->\nb\n<!-- bench dag -->"


def test_a_benchmark_without_a_place_is_refused() -> None:
    with pytest.raises(ValueError, match="no place for herd"):
        page.replaced("nothing here", "herd", "text")


def test_a_section_has_date_machine_table_and_pictures() -> None:
    rows = [{"name": "herd", "unit": "jobs/s", "value": 12_345.6}]

    text = page.section({"measured_at": "2026-11-16T12:00:00+00:00", "rows": rows}, ["herd.svg"])

    assert text.startswith("2026-11-16, ")
    assert "PostgreSQL 18" in text
    assert "12,346" in text
    assert text.endswith("![herd](performance/herd.svg)")


def test_the_page_tells_of_every_size() -> None:
    lines = re.findall(r"^\| `(BENCH_\w+)` \| (.+?) \| (.+?) \|", PAGE, re.MULTILINE)
    told = {name: (full, quick) for name, full, quick in lines}
    assert told == {name: (size.full, size.quick) for name, size in SIZES.items()}


def test_a_size_is_the_environments_else_the_selections_else_the_full_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("BENCH_HERD", "BENCH_BUSES", QUICK):
        monkeypatch.delenv(name, raising=False)
    full = numbers("BENCH_HERD")
    monkeypatch.setenv(QUICK, "1")
    quick = numbers("BENCH_HERD")
    monkeypatch.setenv("BENCH_HERD", "2_000, 3000")

    assert full == [60_000, 100_000, 300_000]
    assert quick == [60_000]
    assert numbers("BENCH_HERD") == [2_000, 3_000]
    assert words("BENCH_BUSES") == ["streams", "kafka"]


def test_the_selection_is_some_of_all() -> None:
    assert set(selection()) < set(BENCHMARKS)
    assert {"herd", "ledger", "next_fire"} <= set(selection())
