"""The authorizer from its zip: it lets in whose key it has made, and that one alone."""

import json
from typing import Any
from uuid import uuid4

import pytest

from infra.local.postgres import Postgres
from infra.local.valkey import Valkey
from lamplighter.adapters.postgres.migrate import migrate
from lamplighter.contracts.keyring import AddKey, RevokeKey, event_of, found_in
from lamplighter.domain.api_key import digest, new_key
from tests.runtime.cell import recorded
from tests.runtime.conftest import Running, Start


@pytest.fixture
def authorizer(postgres_server: Postgres, valkey_server: Valkey, start: Start) -> Running:
    url = postgres_server.ensure_database(f"k{uuid4().hex}")
    migrate(url)
    settings = {
        "LAMPLIGHTER_DATABASE_URL": url,
        "LAMPLIGHTER_VALKEY_URL": valkey_server.url,
        "LAMPLIGHTER_CELL": f"c{uuid4().hex[:12]}",
    }
    return start("authorizer", settings)


def _asked(key: str) -> dict[str, Any]:
    event = recorded("authorizer")
    event["headers"]["authorization"] = f"Bearer {key}"
    return event | {"identitySource": [f"Bearer {key}"]}


def test_whose_key_it_has_made_is_let_in_and_nobody_else(authorizer: Running) -> None:
    key, other = new_key(), new_key()
    order = AddKey(digest(key), "ci", "acme")
    [made] = found_in(json.dumps(authorizer.invoke(json.loads(event_of(order)))).encode())

    known, unknown = authorizer.invoke(_asked(key)), authorizer.invoke(_asked(other))

    who = {"tenant": "acme", "key_id": str(made.key_id), "role": "submitter"}
    assert known == {"isAuthorized": True, "context": who}
    assert unknown == {"isAuthorized": False}


def test_a_key_that_is_revoked_is_one_of_those(authorizer: Running) -> None:
    key = new_key()
    order = AddKey(digest(key), "ci", "acme")
    [made] = found_in(json.dumps(authorizer.invoke(json.loads(event_of(order)))).encode())
    authorizer.invoke(json.loads(event_of(RevokeKey(made.key_id))))

    assert authorizer.invoke(_asked(key)) == {"isAuthorized": False}
