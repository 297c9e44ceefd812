"""The commands of AWS that the pages show are ones that its command line has, with these options.

AWS's command line makes its commands from the same models that boto3 carries; where it has more of
its own, that is written down here.
"""

import re
from pathlib import Path
from typing import Any, Final

import pytest
from botocore import xform_name
from botocore.session import Session

ROOT: Final = Path(__file__).parents[2]
PAGES: Final = [ROOT / "docs" / f"{name}.md" for name in ("deploy", "operations")]
_EVERYWHERE: Final = {"--query", "--output", "--region", "--profile", "--cli-binary-format"}
_OF_ITS_OWN: Final = {
    ("ec2", "authorize-security-group-ingress"): {"--protocol", "--port", "--source-group"},
    ("ec2-instance-connect", "open-tunnel"): {"--instance-id"},
    ("s3", "rb"): {"--force"},
}
_COMMAND: Final = re.compile(r"(?<![\w/-])aws ([a-z][a-z0-9-]+) ([a-z][a-z0-9-]+)([^\n;|]*)")


def _shown(page: Path) -> list[tuple[str, str, str]]:
    """In blocks a line with its continuations, in text what is quoted, over lines or not."""
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    blocks = re.findall(r"^ {4,}(.*)$", text, re.MULTILINE)
    quoted = [" ".join(each.split()) for each in re.findall(r"`([^`]+)`", text)]
    return [found for each in [*blocks, *quoted] for found in _COMMAND.findall(each)]


def _dashed(name: str) -> str:
    return xform_name(name, "-")


def _options(service: str, command: str, rest: str) -> set[str]:
    """Of a command; of one that waits, those of what it asks again and again."""
    session = Session()
    model = session.get_service_model(service)
    name = command
    if command == "wait":
        waiters = session.get_waiter_model(service)
        known = {_dashed(each): each for each in waiters.waiter_names}
        name = _dashed(waiters.get_waiter(known[rest.split(maxsplit=1)[0]]).operation)
    operations = {_dashed(each): each for each in model.operation_names}
    shape: Any = model.operation_model(operations[name]).input_shape
    plain = {_dashed(member) for member in shape.members}
    negated = {f"no-{_dashed(n)}" for n, m in shape.members.items() if m.type_name == "boolean"}
    return {f"--{each}" for each in plain | negated}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_of_aws_that_is_shown_has_these_options(page: Path) -> None:
    shown = _shown(page)

    assert shown
    for service, command, rest in shown:
        asked = set(re.findall(r"(?<=\s)--[a-z0-9-]+", rest)) - _EVERYWHERE
        own = _OF_ITS_OWN.get((service, command), set())
        if not own or asked - own:
            assert asked - own <= _options(service, command, rest), (service, command)
