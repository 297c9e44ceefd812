"""What others know: cfn-lint, cdk-nag; and what every role may do, so that a change is seen.

After a change that is meant: RENEW_SNAPSHOTS=1 make test ARGS="tests/infra/aws/test_rules.py".
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infra.aws.profiles import PROFILES
from tests.infra.aws.conftest import REPORT
from tests.infra.aws.template import Template, flat, listed

pytestmark = pytest.mark.xdist_group("aws")

SNAPSHOTS = Path(__file__).parent / "snapshots"


def test_cfn_lint_finds_no_error(
    synthesized: dict[str, Path], templates: dict[str, Template]
) -> None:
    files = [str(synthesized[name] / "lamplighter.template.json") for name in templates]
    cfn_lint = Path(sys.executable).with_name("cfn-lint")
    # Warnings: zones are named on purpose, and the CDK says some dependencies twice.
    done = subprocess.run(
        [cfn_lint, "--ignore-checks", "W3005", "W3010", "--template", *files],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (done.stdout, done.returncode) == ("", 0)


@pytest.mark.parametrize("profile", PROFILES)
def test_cdk_nag_finds_nothing_without_a_reason(
    profile: str, synthesized: dict[str, Path], templates: dict[str, Template]
) -> None:
    """`constructs/accepted.py` has the reasons."""
    report = json.loads((synthesized[profile] / REPORT).read_text(encoding="utf-8"))
    found = {each["pluginName"]: each["violations"] for each in report["pluginReports"]}

    assert found["AwsSolutions"] == []


@pytest.mark.parametrize("profile", PROFILES)
def test_roles_may_do_what_they_could_before(profile: str, templates: dict[str, Template]) -> None:
    found = _permissions(templates[profile])
    path = SNAPSHOTS / f"{profile}.json"
    if os.environ.get("RENEW_SNAPSHOTS"):
        path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")

    assert found == json.loads(path.read_text(encoding="utf-8"))


def _permissions(template: Template) -> dict[str, dict[str, list[str]]]:
    """Role -> action -> resources, without the ids that the CDK makes up."""
    return {
        role: {
            **_resources(template, role, "Allow", template.may),
            **{
                f"never {action}": arns
                for action, arns in _resources(template, role, "Deny", template.must_not).items()
            },
        }
        for role in sorted(template.of_type("AWS::IAM::Role"))
    }


def _resources(
    template: Template, role: str, effect: str, named: Callable[[str, str], list[Any]]
) -> dict[str, list[str]]:
    return {
        action: sorted(_shortened(flat(each), template) for each in named(role, action))
        for action in sorted(_actions(template, role, effect))
    }


def _actions(template: Template, role: str, effect: str) -> set[str]:
    return {
        action
        for statement in template.statements(role)
        if statement["Effect"] == effect
        for action in listed(statement["Action"])
    }


def _shortened(text: str, template: Template) -> str:
    names: dict[str, Any] = template.resources
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(f"<{name}", f"<{name[:-8]}")
    return text
