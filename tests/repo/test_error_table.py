"""Every error that a client can meet is in the table of docs/api.md, with its status."""

import re
from http import HTTPStatus
from pathlib import Path

import pytest

from infra.local.gateway.guard import STATUS_OF as OF_THE_GATEWAY
from infra.local.gateway.protocol import RequestTimeout
from lamplighter.contracts.http_errors import STATUS_OF, code_of
from lamplighter.domain.errors import LamplighterError

PAGE = (Path(__file__).parents[2] / "docs/api.md").read_text(encoding="utf-8")
ALL = {**STATUS_OF, **OF_THE_GATEWAY, RequestTimeout: HTTPStatus.REQUEST_TIMEOUT}


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_an_error_is_on_the_page(kind: type[LamplighterError]) -> None:
    code = code_of(kind.__new__(kind))
    row = re.search(rf"^\| `{code}` \| (\d+) \|", PAGE, re.MULTILINE)

    assert row, code
    assert HTTPStatus(int(row[1])) is ALL[kind]
