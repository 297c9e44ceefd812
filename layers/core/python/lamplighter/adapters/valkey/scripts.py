"""The scripts: each lives in `lua/`, with its keys and arguments above it."""

import hashlib
import re
from functools import cache
from importlib.resources import files

import msgspec

from lamplighter.domain.ordering import LEVEL_MS, LITTLE, OVERDUE_MS, PRIORITIES, RISE_MS
from lamplighter.domain.policy import JobClass

_WITH = re.compile(r"^-- with: (.+)$", re.MULTILINE)

# Facts of the domain that scripts need: stated once, over there.
_CLASSES = ", ".join(str(JobClass.of(priority).value) for priority in PRIORITIES)
_FACTS = f"""\
local CLASS_OF = {{ {_CLASSES} }}
local LEVEL_MS, OVERDUE_MS, RISE_MS = {LEVEL_MS}, {OVERDUE_MS}, {RISE_MS}
local LITTLE = {LITTLE}
"""


class Script(msgspec.Struct, frozen=True):
    text: str
    sha: str


@cache
def script(name: str) -> Script:
    """`lua/<name>.lua`, after the parts that its line `-- with:` names."""
    own = _read(name)
    named = _WITH.search(own)
    parts = named[1].split(", ") if named else []
    text = "\n".join([_FACTS, *map(_read, parts), own])
    return Script(text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest())


def _read(name: str) -> str:
    return (files(__package__) / "lua" / f"{name}.lua").read_text(encoding="utf-8")
