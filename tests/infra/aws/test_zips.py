"""The templates name the zips that tests/runtime runs: the same files, byte for byte."""

from pathlib import Path
from typing import Any

import pytest

from functions.executor import handler as executor
from infra.aws import assets
from tests.infra.aws.template import Template

pytestmark = pytest.mark.xdist_group("aws")


@pytest.fixture(scope="module")
def assembly(templates: dict[str, Template], synthesized: dict[str, Path]) -> Path:
    assert templates
    return synthesized["standard"]


def sources(assembly: Path, code: dict[str, Any]) -> dict[str, bytes]:
    """What is in the zip; bytecode aside, which is made from it."""
    folder = assembly / f"asset.{code['S3Key'].removesuffix('.zip')}"
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def read(files: assets.Files) -> dict[str, bytes]:
    return {name: path.read_bytes() for name, path in files.items()}


def test_every_function_has_its_zip_and_its_entry(
    templates: dict[str, Template], assembly: Path
) -> None:
    functions = templates["standard"].functions()

    assert set(functions) <= set(assets.function_names())
    for name, properties in functions.items():
        assert properties["Handler"] == assets.entry(name)
        assert sources(assembly, properties["Code"]) == read(assets.function_files(name))


def test_the_core_layer_is_the_package(templates: dict[str, Template], assembly: Path) -> None:
    layers = templates["standard"].properties("AWS::Lambda::LayerVersion")

    found = [sources(assembly, layer["Content"]) for layer in layers]

    assert read(assets.core_files()) in found


def test_every_function_has_both_layers(template: Template) -> None:
    layers = set(template.of_type("AWS::Lambda::LayerVersion"))

    for name, properties in template.functions().items():
        assert {each["Ref"] for each in properties["Layers"]} == layers, name
    assert len(layers) == 2


def test_an_executor_has_time_for_its_longest_run(template: Template) -> None:
    """Else it hands back every batch, and nothing ever runs."""
    properties = template.functions()["executor"]
    longest = float(template.variables("executor")["LAMPLIGHTER_LONGEST_SECONDS"])

    assert properties["Timeout"] >= longest + executor._MARGIN_SECONDS + 10
