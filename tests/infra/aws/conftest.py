"""Each profile is synthesized once; every test asks what came out of it."""

import ast
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pytest

from infra.aws import options
from infra.aws.profiles import PROFILES
from infra.local.tools import NEEDED_BY, missing
from tests.adapters.aws_identity.certificates import certify
from tests.infra.aws.template import Template

REPORT = "validation-report.json"
EXAMPLES: Final = (*PROFILES, "chosen", "keys")
# The dependency layer is not built for this: it takes pip and a network.
_UNBUNDLED: dict[str, Any] = {"aws:cdk:bundling-stacks": []}
# One of each kind that a job may address, and what a task of ECS needs beside its definition.
TARGETS: Final = {
    "lambda": "arn:aws:lambda:eu-west-1:123456789012:function:report",
    "sqs": "arn:aws:sqs:eu-west-1:123456789012:orders",
    "sns": "arn:aws:sns:eu-west-1:123456789012:news",
    "eventbridge": "arn:aws:events:eu-west-1:123456789012:event-bus/default",
    "stepfunctions": "arn:aws:states:eu-west-1:123456789012:stateMachine:orders",
    "ecs": "arn:aws:ecs:eu-west-1:123456789012:task-definition/report:1",
    "cluster": "arn:aws:ecs:eu-west-1:123456789012:cluster/batch",
    "role": "arn:aws:iam::123456789012:role/report",
}


if missing(NEEDED_BY["node"]):

    def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module:
        module: pytest.Module = _WithoutNode.from_parent(parent, path=module_path)
        return module


class _WithoutNode(pytest.Module):
    """The CDK starts Node as soon as it is imported: tests are read by name, and all skipped."""

    def collect(self) -> list[pytest.Item]:
        return [
            pytest.Function.from_parent(self, name=name, callobj=_needs_node)
            for name in _tests_of(self.path)
        ]

    def _getobj(self) -> ModuleType:
        return sys.modules[__name__]  # and not the module itself


def _tests_of(module: Path) -> list[str]:
    found = ast.parse(module.read_text(encoding="utf-8")).body
    functions = [each.name for each in found if isinstance(each, ast.FunctionDef)]
    return [name for name in functions if name.startswith("test_")]


@pytest.mark.node
def _needs_node() -> None:
    """Skipped by its mark."""


def synthesize(folder: Path, *, checked: bool = False, **context: Any) -> Template:
    """With cdk-nag's report beside the template where `checked`."""
    from aws_cdk import Validations
    from cdk_nag import AwsSolutionsChecks

    from infra.aws.app import application

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


@pytest.fixture(scope="session")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return certify(tmp_path_factory.mktemp("authorities"))


@pytest.fixture(scope="session")
def handlers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A deployer's own code, and things beside it that are none."""
    folder = tmp_path_factory.mktemp("handlers")
    texts = {
        "shop/__init__.py": "",
        "shop/nightly.py": "COUNT = 1\n",
        "shop/rates.csv": "EUR,1\n",
        "shop/__pycache__/nightly.cpython-39.pyc": "of another Python",
        ".git/config": "hidden",
    }
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def chosen_assembly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("chosen")


@pytest.fixture(scope="session")
def chosen(chosen_assembly: Path, bundle: Path, handlers: Path) -> Template:
    """Everything that a deployer may choose, at once."""
    context: dict[str, Any] = {
        "profile": "standard",
        "cell": "second",
        "auth": "jwt",
        "issuer": "https://issuer.example/",
        "audience": "lamplighter",
        "tenant_claim": "org",
        "default_tenant": "shared",
        "nat": "true",
        "domain": "jobs.example.com",
        "certificate": "arn:aws:acm:eu-west-1:123456789012:certificate/1",
        "zones": "eu-west-1a,eu-west-1b,eu-west-1c",
        "image": "123456789012.dkr.ecr.eu-west-1.amazonaws.com/worker:1",
        "targets": ",".join(TARGETS.values()),
        "webhook_secret": "lamplighter-webhooks",
        "alarm_email": "nobody@example.com",
        "protect": "false",
        "tasks_at_rest": "0",
        "database_authorities": str(bundle),
        "commands": "true",
        "handlers": str(handlers),
        "handler_modules": "shop.nightly,shop",
    }
    return synthesize(chosen_assembly, checked=True, **context)


@pytest.fixture(scope="session")
def keys_assembly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("keys")


@pytest.fixture(scope="session")
def keys(keys_assembly: Path) -> Template:
    """The one other way in, which has a function of its own."""
    return synthesize(keys_assembly, checked=True, profile="small", auth="api-key")


@pytest.fixture(scope="session")
def assemblies(
    synthesized: dict[str, Path], chosen_assembly: Path, keys_assembly: Path
) -> dict[str, Path]:
    return synthesized | {"chosen": chosen_assembly, "keys": keys_assembly}


@pytest.fixture(scope="session")
def examples(
    templates: dict[str, Template], chosen: Template, keys: Template
) -> dict[str, Template]:
    """The profiles as they are, and what choices make of them."""
    return templates | {"chosen": chosen, "keys": keys}


@pytest.fixture(params=EXAMPLES)
def example(request: pytest.FixtureRequest, examples: dict[str, Template]) -> Template:
    return examples[request.param]
