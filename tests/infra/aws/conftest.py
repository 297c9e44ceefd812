"""Each profile is synthesized once; every test asks what came out of it."""

import json
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import Validations
from cdk_nag import AwsSolutionsChecks

from infra.aws import options
from infra.aws.app import application
from infra.aws.profiles import PROFILES
from tests.infra.aws.template import Template

REPORT = "validation-report.json"
# The dependency layer is not built for this: it takes pip and a network.
_UNBUNDLED: dict[str, Any] = {"aws:cdk:bundling-stacks": []}


def synthesize(folder: Path, *, checked: bool = False, **context: Any) -> Template:
    """With cdk-nag's report beside the template where `checked`."""
    app = application(_UNBUNDLED | context, folder)
    if checked:
        Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    try:
        app.synth()
    except Exception:
        # What it found is for one test to say, and not for all of them.
        if not (folder / REPORT).exists():
            raise
    chosen = options.of(context)
    body = json.loads((folder / f"{chosen.stack_name}.template.json").read_text(encoding="utf-8"))
    return Template(chosen, body)


@pytest.fixture(scope="session")
def synthesized(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Where each profile's assembly is."""
    return {name: tmp_path_factory.mktemp(name) for name in PROFILES}


@pytest.fixture(scope="session")
def templates(synthesized: dict[str, Path]) -> dict[str, Template]:
    return {
        name: synthesize(folder, checked=True, profile=name) for name, folder in synthesized.items()
    }


@pytest.fixture(params=list(PROFILES))
def template(request: pytest.FixtureRequest, templates: dict[str, Template]) -> Template:
    return templates[request.param]


@pytest.fixture(params=["standard", "large"])
def with_kafka(request: pytest.FixtureRequest, templates: dict[str, Template]) -> Template:
    return templates[request.param]


@pytest.fixture
def with_sqs(templates: dict[str, Template]) -> Template:
    return templates["small"]
