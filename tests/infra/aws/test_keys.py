"""The authorizer, where keys are asked for: the zip that the tests of the runtime run."""

from pathlib import Path

import pytest

from infra.aws import assets
from tests.infra.aws.conftest import synthesize
from tests.infra.aws.test_zips import read, sources

pytestmark = pytest.mark.xdist_group("aws")


def test_the_authorizers_zip_is_the_one_that_was_tried(tmp_path: Path) -> None:
    template = synthesize(tmp_path, profile="small", auth="api-key")

    properties = template.functions()["authorizer"]

    assert template.functions().keys() == set(assets.function_names())
    assert properties["Handler"] == assets.entry("authorizer")
    assert sources(tmp_path, properties["Code"]) == read(assets.function_files("authorizer"))
