"""Operations has a section for each alarm; verified has a row for each type, and real tests."""

import re
from pathlib import Path

import pytest

from infra.aws.profiles import SMALL, STANDARD
from tests.infra.aws.template import Template

pytestmark = pytest.mark.xdist_group("aws")

ROOT = Path(__file__).parents[3]
OPERATIONS = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
VERIFIED = (ROOT / "docs" / "verified.md").read_text(encoding="utf-8")
_HASH = 8
_USUAL = STANDARD.alarms
_WORDS = {3: "three", 5: "five", 10: "ten", 20: "twenty"}


def _alarms(templates: dict[str, Template]) -> set[str]:
    """Those that tell somebody; scaling has two of its own. Functions share a section."""
    names = {
        name.removeprefix("Alarms")[:-_HASH]
        for each in templates.values()
        for name in each.of_type("AWS::CloudWatch::Alarm")
        if name.startswith("Alarms")
    }
    return {"Errors" if name.startswith("Errors") else name for name in names}


def _sections() -> set[str]:
    chapter = OPERATIONS.partition("\n## Alarms\n")[2].partition("\n## ")[0]
    return set(re.findall(r"^### (\S+)$", chapter, re.MULTILINE))


def test_every_alarm_has_a_runbook_and_every_runbook_an_alarm(
    templates: dict[str, Template],
) -> None:
    assert _sections() == _alarms(templates)


@pytest.mark.parametrize(
    ("section", "says"),
    [
        ("Lateness", f"{_USUAL.lateness_ms / 1000:g} s late"),
        ("Lateness", f"(`small`: {SMALL.alarms.lateness_ms / 1000:g} s)"),
        ("FailureRate", f"{_WORDS[_USUAL.failure_least_runs]} runs"),
        ("LeaderChanges", f"More than {_WORDS[_USUAL.leader_changes]}"),
        ("Errors", f"more than {_WORDS[_USUAL.function_errors]} in five minutes"),
        ("Errors", f"(`small`: {_WORDS[SMALL.alarms.function_errors]})"),
        ("ServerErrors", f"more than {_WORDS[_USUAL.server_errors]} requests"),
        ("DatabaseFull", f"over {_USUAL.acu_percent} %"),
        ("BrokerDisk", f"over {_USUAL.disk_percent} %"),
        ("Lag", f"over {_USUAL.lag:,} messages"),
        ("DependencyLag", f"over {_USUAL.dependency_lag:,} messages"),
        ("RequestLag", f"for {_WORDS[_USUAL.request_minutes]} minutes"),
    ],
)
def test_a_runbook_has_the_limit_of_the_profiles(section: str, says: str) -> None:
    text = OPERATIONS.partition(f"\n### {section}\n")[2].partition("\n### ")[0]

    assert says in " ".join(text.split())


def test_every_type_of_the_templates_has_a_row_and_every_row_a_type(
    templates: dict[str, Template],
) -> None:
    rows = set(re.findall(r"^\| `(\w+::[\w:]+)` \|", VERIFIED, re.MULTILINE))
    types = {
        each["Type"] for template in templates.values() for each in template.resources.values()
    }

    # The CDK's own note of which version it was; its command line adds it.
    assert rows == types - {"AWS::CDK::Metadata"}


def test_every_row_says_how_it_was_verified() -> None:
    table = VERIFIED.partition("## Resource by resource")[2].partition("By choice")[0]
    rows = [line.strip("|").split("|") for line in table.splitlines() if line.startswith("| `")]

    assert len(rows) > 40
    for kind, what, how, _ in rows:
        assert what.strip(), kind
        assert how.strip(), kind


def test_every_test_that_the_page_names_exists() -> None:
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")]
    defined = {
        name for text in texts for name in re.findall(r"^def (test_\w+)\(", text, re.MULTILINE)
    }
    named = {
        name
        for page in (VERIFIED, OPERATIONS)
        for name in re.findall(r"`(test_\w+)`", page)
    }  # fmt: skip

    assert len(named) > 50
    assert named <= defined
