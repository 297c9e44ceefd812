"""The dependency layer comes from pip, through the CDK's own hands, and never from Docker."""

from pathlib import Path

import pytest
from aws_cdk import App, Stack

from infra.aws.constructs.layers import Layers
from infra.aws.options import of
from layers.dependencies import build

pytestmark = pytest.mark.xdist_group("aws")


def _synthesize(folder: Path) -> None:
    app = App(outdir=str(folder))
    Layers(Stack(app, "only-layers"), "Layers", of({}))
    app.synth()


def test_the_layer_is_what_pip_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built = tmp_path / "built"
    (built / "python").mkdir(parents=True)
    (built / "python" / "psycopg.py").write_text("here", encoding="ascii")
    monkeypatch.setattr(build, "layer", lambda _: built)

    _synthesize(tmp_path / "out")

    (found,) = (tmp_path / "out").glob("asset.*/python/psycopg.py")
    assert found.read_text(encoding="ascii") == "here"


def test_a_layer_that_cannot_be_built_stops_the_synthesis(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rather than ask for Docker, with another Python's wheels."""

    def fail(_: object) -> Path:
        raise build.LayerFailed("no wheel for psycopg")

    monkeypatch.setattr(build, "layer", fail)

    with pytest.raises(RuntimeError, match="no wheel for psycopg"):
        _synthesize(tmp_path / "out")
