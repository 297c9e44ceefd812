"""One benchmark whole, as small as can be: what it tells is about what happened."""

import pytest

from benchmarks import due, herd, limit, report


@pytest.mark.xdist_group("stack-streams")
def test_a_small_herd_is_measured_from_submission_to_verdict(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCH_HERD", "200")
    monkeypatch.setenv("BENCH_WARM_UP", "200")
    monkeypatch.setenv("BENCH_BUSES", "streams")
    monkeypatch.setattr(due, "BATCH", 100)
    monkeypatch.setattr(due, "WARM_UP_SECONDS", 1.0)
    monkeypatch.setattr(limit, "rate", lambda _bus, _jobs: 1_000.0)
    monkeypatch.setattr(due, "SETTLE_SECONDS", 1.0)
    monkeypatch.setattr(report, "RESULTS", tmp_path_factory.mktemp("bench"))

    rows = {row["name"]: row for row in herd.measure()}

    whole = rows["herd of 200 over streams"]
    assert whole["value"] > 0
    assert whole["ratio"] == whole["value"] / 1_000
    assert rows["herd of 200 over streams, found by verify"]["value"] == 0
    assert rows["herd of 200 over streams, start lateness, p50"]["value"] > 0
    assert rows["  executor-1"]["value"] >= 0
    assert {each.name for each in report.RESULTS.iterdir()} == {"herd.svg", "herd-cpu.svg"}
