"""The peers: who stands beside us is told, and why one does not."""

import re
import sys
from pathlib import Path

import pytest

from benchmarks import report
from benchmarks.peers import compare, drive, environments, figures, trial
from benchmarks.peers.figures import Figures, Herd, Steady, highest, worth_trying
from benchmarks.peers.protocol import due_times
from benchmarks.peers.table import PEERS, Peer
from benchmarks.registry import BENCHMARKS, selection
from benchmarks.sizes import SIZES


@pytest.fixture(autouse=True)
def pictures(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """What a test draws is not the newest result."""
    folder = tmp_path / "results"
    monkeypatch.setattr(report, "RESULTS", folder)
    return folder


def test_the_registry_knows_it_and_a_selection_does_without() -> None:
    assert BENCHMARKS["peers"].place == "peers.compare:measure"
    assert "peers" not in selection()


def test_those_that_are_measured_by_default_are_all() -> None:
    assert set(SIZES["BENCH_PEERS"].full.split()) == set(PEERS)


@pytest.mark.parametrize("peer", PEERS.values(), ids=list(PEERS))
def test_each_is_pinned(peer: Peer) -> None:
    assert re.fullmatch(r"\d+(\.\d+)+", environments.version(peer))


@pytest.mark.parametrize("kind", ["go", "node"])
def test_a_missing_tool_becomes_a_row(
    kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (name,) = (peer.name for peer in PEERS.values() if peer.kind == kind)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("BENCH_BUSES", "")
    monkeypatch.setenv("BENCH_PEERS", name)

    (row,) = compare.measure()

    assert (row["name"], row["value"]) == (name, 0)
    assert row["note"] == f"not measured: there is no {kind} here"


def test_one_that_fails_becomes_a_row_and_the_next_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> Figures:
        raise RuntimeError("a worker has ended")

    monkeypatch.setenv("BENCH_BUSES", "")
    monkeypatch.setenv("BENCH_PEERS", "procrastinate typo")
    monkeypatch.setattr(drive, "measured", fails)
    monkeypatch.setattr(environments, "command", lambda _peer: ["true"])

    first, second = compare.measure()

    assert first["note"] == "not measured: a worker has ended"
    assert second["note"].startswith("not measured: there is no such peer; there are ")


def test_an_installation_that_fails_says_its_last_words(tmp_path: Path) -> None:
    with pytest.raises(environments.NotHere, match="sh failed: no network"):
        environments._run(["sh", "-c", "echo first >&2; echo no network >&2; exit 1"], tmp_path)


def test_what_was_made_of_something_else_is_made_again(tmp_path: Path) -> None:
    pins = tmp_path / "pins"
    pins.write_text("one==1")
    environments._made(tmp_path, [pins])
    same = environments._is_made(tmp_path, [pins])
    pins.write_text("one==2")

    assert same
    assert not environments._is_made(tmp_path, [pins])


def test_hopeless_rates_are_not_tried_and_the_lowest_always_is() -> None:
    assert worth_trying([200, 1_000, 400, 2_000], herd=700.0) == [1_000, 400, 200]
    assert worth_trying([200, 400], herd=10.0) == [200]


def test_the_first_rate_that_holds_is_told_and_none_below_it_is_tried() -> None:
    p99_of = {1_000: float("inf"), 400: 1.9, 200: 0.1}
    tried: list[int] = []

    def p99_at(rate: int) -> float:
        tried.append(rate)
        return p99_of[rate]

    held = highest(list(p99_of), p99_at)

    assert held == Steady(400, 1.9)
    assert tried == [1_000, 400]
    assert highest([200], lambda _: 2.0) == Steady(0, 2.0)


def test_times_are_evenly_spaced_or_all_the_same() -> None:
    assert due_times(10.0, 4, 3) == [10.0, 10.25, 10.5]
    assert due_times(10.0, 0, 2) == [10.0, 10.0]


def test_rows_stand_figure_by_figure_with_the_ratio_of_ours_to_each() -> None:
    ours = Figures("ours", "", {5: Herd(5, 900.0, 0.1)}, Steady(1_000, 0.05), 80.0, 600.0)
    slow = Figures("slow", "kept", {5: Herd(2, 300.0, 1.5)}, Steady(0, float("inf")), 20.0, None)

    rows = {row["name"]: row for row in figures.rows([ours, slow], ours)}

    assert list(rows)[:2] == ["herd of 5: ours", "herd of 2: slow"]
    assert rows["herd of 2: slow"]["ratio"] == 3.0
    assert rows["herd of 2: slow"]["note"] == "p99 1,500 ms; kept"
    assert rows["steady, p99 below 2 s: slow"]["note"] == (
        "none of the rates held: p99 without end"
    )
    assert "ratio" not in rows["steady, p99 below 2 s: slow"]
    assert "ratio" not in rows["herd of 5: ours"]
    assert rows["submit one by one: slow"]["ratio"] == 4.0
    assert rows["submit in batches of 1,000: slow"]["note"] == "it has no such way"


def test_there_is_no_ratio_where_ours_was_not_measured() -> None:
    alone = Figures("alone", "", {5: Herd(5, 9.0, 0.1)}, Steady(10, 0.05), 8.0, 6.0)

    assert all("ratio" not in row for row in figures.rows([alone], None))


FAKE = Peer("fake", "Fake", "python", "valkey", "zcard waiting", "", workers=1, most=100)
FAKE_COMMAND = [sys.executable, str(Path(__file__).with_name("fake_peer.py"))]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = {"HERD": "50 200 300", "RATES": "40 100", "SECONDS": "1"}
    for name, size in sizes.items():
        monkeypatch.setenv(f"BENCH_PEER_{name}", size)
    monkeypatch.setenv("BENCH_SUBMIT_SECONDS", "3")
    monkeypatch.setattr(trial, "SETTLE_SECONDS", 1.0)


@pytest.mark.usefixtures("small")
def test_a_peer_is_measured_from_its_empty_store_to_its_last_job() -> None:
    found = drive.measured(FAKE, FAKE_COMMAND, "Fake 1")

    assert {size: herd.jobs for size, herd in found.herds.items()} == {50: 50, 200: 100}
    assert all(herd.per_second > 0 and herd.p99 > 0 for herd in found.herds.values())
    assert found.steady.p99 > 0
    assert (found.one_by_one, found.in_batches) == (3.0, 3_000.0)


@pytest.mark.usefixtures("small")
def test_a_worker_that_ends_is_told_with_its_last_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_PEER_FAILS", "1")

    with pytest.raises(RuntimeError, match="a worker has ended: no such option"):
        drive.measured(FAKE, FAKE_COMMAND, "Fake 1")
