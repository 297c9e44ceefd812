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

from tests.infra.aws.conftest import EXAMPLES, REPORT
from tests.infra.aws.permitted import permissions
from tests.infra.aws.template import Template

pytestmark = pytest.mark.xdist_group("aws")

SNAPSHOTS = Path(__file__).parent / "snapshots"


def _to_executor(key: str, value: Any) -> Callable[[Template], None]:
    def change(template: Template) -> None:
        template.resources[template.role_of("executor")]["Properties"][key] = value

    return change


def _opened(kind: str, key: str) -> Callable[[Template], None]:
    def change(template: Template) -> None:
        everybody = {"Effect": "Allow", "Principal": "*", "Action": "*", "Resource": "*"}
        template.properties(kind)[0][key]["Statement"].append(everybody)

    return change


def _unconditioned(template: Template) -> None:
    conditioned = [
        each for each in template.statements(template.role_of("executor")) if "Condition" in each
    ]
    for statement in conditioned:
        del statement["Condition"]
    assert conditioned


def test_cfn_lint_finds_no_error(
    assemblies: dict[str, Path], examples: dict[str, Template]
) -> None:
    files = [
        str(assemblies[name] / f"{each.options.stack_name}.template.json")
        for name, each in examples.items()
    ]
    cfn_lint = Path(sys.executable).with_name("cfn-lint")
    # Warnings: zones are named on purpose, and the CDK says some dependencies twice.
    done = subprocess.run(
        [cfn_lint, "--ignore-checks", "W3005", "W3010", "--template", *files],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (done.stdout, done.returncode) == ("", 0)


@pytest.mark.parametrize("name", EXAMPLES)
def test_cdk_nag_finds_nothing_without_a_reason(
    name: str, assemblies: dict[str, Path], examples: dict[str, Template]
) -> None:
    """`constructs/accepted.py` has the reasons."""
    report = json.loads((assemblies[name] / REPORT).read_text(encoding="utf-8"))
    found = {each["pluginName"]: each["violations"] for each in report["pluginReports"]}

    assert found["AwsSolutions"] == []


@pytest.mark.parametrize("name", EXAMPLES)
def test_roles_may_do_what_they_could_before(name: str, examples: dict[str, Template]) -> None:
    found = permissions(examples[name])
    path = SNAPSHOTS / f"{name}.json"
    if os.environ.get("RENEW_SNAPSHOTS"):
        path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")

    assert found == json.loads(path.read_text(encoding="utf-8"))


_BITES: list[tuple[str, Callable[[Template], None]]] = [
    ("a managed policy", _to_executor("ManagedPolicyArns", ["arn:aws:iam::aws:policy/Admin"])),
    ("a policy inside the role", _to_executor("Policies", [
        {"PolicyName": "all", "PolicyDocument": {"Statement": [
            {"Effect": "Allow", "Action": "*", "Resource": "*"}]}}])),
    ("somebody else's role", _to_executor("AssumeRolePolicyDocument", {"Statement": [
        {"Effect": "Allow", "Principal": "*", "Action": "sts:AssumeRole"}]})),
    ("a key that is open", _opened("AWS::KMS::Key", "KeyPolicy")),
    ("a topic that is open", _opened("AWS::SNS::TopicPolicy", "PolicyDocument")),
    ("a bucket that is open", _opened("AWS::S3::BucketPolicy", "PolicyDocument")),
    ("a queue that is open", _opened("AWS::SQS::QueuePolicy", "PolicyDocument")),
    ("a condition that is gone", _unconditioned),
]  # fmt: skip


@pytest.mark.parametrize(("what", "change"), _BITES, ids=[what for what, _ in _BITES])
def test_a_snapshot_shows(
    what: str, change: Callable[[Template], None], examples: dict[str, Template]
) -> None:
    broken = examples["chosen"].copy()
    change(broken)

    assert permissions(broken) != permissions(examples["chosen"]), what
