"""docs/api.md lists every route, field, parameter and status there is, and no others."""

import re
from pathlib import Path

import msgspec

from lamplighter.contracts.http_errors import STATUS_OF
from lamplighter.contracts.jobs import NewJobBody, PreviewBody, WorkflowJobBody
from tests.functions.calling import APIS

PAGE = (Path(__file__).parents[2] / "docs" / "api.md").read_text(encoding="utf-8")


def test_every_route_has_a_heading_and_every_heading_a_route() -> None:
    told = set(re.findall(r"^### `([A-Z]+ /\S*)`", PAGE, re.MULTILINE))
    assert told == {route.name for api in APIS for route in api.routes}


def test_every_field_of_a_job_has_a_row() -> None:
    told = set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE))
    fields = {
        field
        for body in (NewJobBody, WorkflowJobBody, PreviewBody)
        for field in body.__struct_fields__
    }
    assert fields <= told


def test_every_error_has_its_code_and_status() -> None:
    told = dict(re.findall(r"^\| `(\w+)` \| (\d{3}) \|", PAGE, re.MULTILINE))
    known = {
        re.sub(r"(?<!^)(?=[A-Z])", "_", error.__name__).lower(): str(int(status))
        for error, status in STATUS_OF.items()
    }
    assert known.items() <= told.items()


def test_the_example_bodies_are_json() -> None:
    examples = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    assert examples
    for example in examples:
        msgspec.json.decode(example.encode())
