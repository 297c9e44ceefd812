"""`lamplighter bench` runs the checkout's benchmarks, and says so where there are none."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from lamplighter.cli import bench
from lamplighter.cli.main import main


def test_outside_a_checkout_it_says_where_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "CHECKOUT", tmp_path)

    refused = CliRunner().invoke(main, ["bench", "herd"])

    assert refused.exit_code == 1
    assert "in a checkout" in refused.output


def test_names_and_options_are_handed_on_and_the_outcome_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "benchmarks").mkdir()
    program = "import sys, pathlib; pathlib.Path('said').write_text(' '.join(sys.argv[1:]))"
    (tmp_path / "benchmarks" / "__main__.py").write_text(f"{program}; sys.exit(3)")
    monkeypatch.setattr(bench, "CHECKOUT", tmp_path)

    done = CliRunner().invoke(main, ["bench", "--quick", "--json", "/x.json", "herd", "dag"])

    assert done.exit_code == 3
    assert (tmp_path / "said").read_text() == "--quick --json /x.json herd dag"


def test_an_unknown_benchmark_is_refused_with_the_names_of_all(
    capfd: pytest.CaptureFixture[str],
) -> None:
    refused = CliRunner().invoke(main, ["bench", "heard"])

    assert refused.exit_code == 2
    assert "no benchmark heard; there are herd, steady" in capfd.readouterr().err
