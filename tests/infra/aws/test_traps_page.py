"""The page of traps names tests that exist, and names them for a reason."""

import re
from pathlib import Path

from infra.aws.options import of
from infra.aws.profiles import PROFILES

HERE = Path(__file__).parent
PAGES = HERE.parents[2] / "infra" / "aws"
_NAMED = re.compile(r"`(test_\w+)`")
_DEFINED = re.compile(r"^def (test_\w+)\(", re.MULTILINE)


def _defined() -> set[str]:
    texts = (path.read_text(encoding="utf-8") for path in HERE.glob("test_*.py"))
    return {name for text in texts for name in _DEFINED.findall(text)}


def test_every_test_on_the_page_is_one() -> None:
    named = set(_NAMED.findall((PAGES / "TRAPS.md").read_text(encoding="utf-8")))

    assert len(named) > 40
    assert named <= _defined()


def test_every_choice_is_explained() -> None:
    source = (PAGES / "options.py").read_text(encoding="utf-8")
    page = (PAGES / "README.md").read_text(encoding="utf-8")

    for name in set(re.findall(r'ask\("(\w+)"\)', source)):
        assert f"`{name}`" in page, name


def test_every_profile_is_on_the_page() -> None:
    page = (PAGES / "README.md").read_text(encoding="utf-8")

    for name in PROFILES:
        assert of({"profile": name}).profile.name in page
