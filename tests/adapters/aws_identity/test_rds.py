"""A token for every connection to the database, and none for anybody else's."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import boto3
import psycopg
import pytest
from botocore.session import Session
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from infra.local.postgres import Postgres
from lamplighter.adapters.aws_identity.rds import RdsAddress, RdsTokens
from lamplighter.adapters.postgres.database import Database
from lamplighter.adapters.postgres.migrate import migrate, migrations
from lamplighter.domain.errors import LedgerUnavailable
from lamplighter.settings import InvalidSettings
from tests.adapters.aws_identity.front import tls_front

URL = "postgresql://lamplighter@cell.cluster-x.eu-west-1.rds.amazonaws.com:6432/ledger"
HOST = "cell.cluster-x.eu-west-1.rds.amazonaws.com"


class Rotating:
    """Makes a token, and lets the server take that and no other, as one that has just ended."""

    def __init__(self, server: Postgres, role: str) -> None:
        self._server = server
        self._role = sql.Identifier(role)
        self.asked: list[tuple[str, int, str]] = []

    def __call__(self, host: str, port: int, user: str) -> str:
        self.asked.append((host, port, user))
        token = f"{uuid4()}?Action=connect&é='{len(self.asked)}"
        with psycopg.connect(self._server.url, autocommit=True) as conn:
            alter = sql.SQL("ALTER ROLE {} PASSWORD {}").format(self._role, sql.Literal(token))
            conn.execute(alter)
        return token


@pytest.fixture
def role(postgres_server: Postgres) -> str:
    """A user who may do everything, and has no password yet."""
    name = f"iam_{uuid4().hex[:8]}"
    with psycopg.connect(postgres_server.url, autocommit=True) as conn:
        conn.execute(sql.SQL("CREATE ROLE {} LOGIN SUPERUSER").format(sql.Identifier(name)))
    return name


@pytest.fixture
def tokens(postgres_server: Postgres, role: str) -> Rotating:
    return Rotating(postgres_server, role)


@pytest.fixture
def front(postgres_server: Postgres, tmp_path: Path) -> Iterator[tuple[int, Path]]:
    with tls_front(postgres_server.port, tmp_path) as made:
        yield made


@pytest.fixture
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "session")


def test_every_new_connection_asks_for_a_token_and_proves_it(
    front: tuple[int, Path], role: str, tokens: Rotating
) -> None:
    port, authority = front
    url = f"postgresql://{role}@localhost:{port}/postgres?sslrootcert={authority}"
    database = Database(RdsAddress(url, sign=tokens), max_size=1)

    for _ in range(2):
        assert database.statement(b"SELECT current_user::text", {}) == [(role,)]
    assert tokens.asked == [("localhost", port, role)]
    with pytest.raises(LedgerUnavailable):
        database.statement(b"SELECT pg_terminate_backend(pg_backend_pid())", {})
    assert database.statement(b"SELECT 1", {}) == [(1,)]

    assert len(tokens.asked) == 2
    database.close()


def test_migrations_come_in_the_same_way(
    postgres_server: Postgres, front: tuple[int, Path], role: str, tokens: Rotating
) -> None:
    name = f"d{uuid4().hex}"
    postgres_server.ensure_database(name)
    url = f"postgresql://{role}@localhost:{front[0]}/{name}?sslrootcert={front[1]}"

    assert migrate(RdsAddress(url, sign=tokens), days_ahead=0) == list(migrations())

    assert len(tokens.asked) == 1


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_one_who_cannot_prove_to_be_the_server_gets_no_token(
    front: tuple[int, Path], role: str, tokens: Rotating, host: str
) -> None:
    """Of the wrong name with the right authority, and of the right name with another's."""
    rest = f"?sslrootcert={front[1]}" if host == "127.0.0.1" else ""

    with pytest.raises(LedgerUnavailable, match="certificate"):
        migrate(RdsAddress(f"postgresql://{role}@{host}:{front[0]}/postgres{rest}", sign=tokens))


def test_a_server_without_encryption_gets_no_token(
    postgres_server: Postgres, role: str, tokens: Rotating
) -> None:
    url = f"postgresql://{role}@127.0.0.1:{postgres_server.port}/postgres?sslmode=require"

    with pytest.raises(LedgerUnavailable, match="does not support SSL"):
        migrate(RdsAddress(url, sign=tokens))


@pytest.mark.parametrize(
    ("query", "mode", "authority"),
    [
        ("", "verify-full", "system"),
        ("?sslrootcert=/opt/rds.pem", "verify-full", "/opt/rds.pem"),
        ("?sslmode=require", "require", None),
        ("?sslmode=verify-ca&sslrootcert=/opt/rds.pem", "verify-ca", "/opt/rds.pem"),
    ],
)
def test_the_server_is_verified_unless_the_url_asks_for_less(
    query: str, mode: str, authority: str | None
) -> None:
    made = conninfo_to_dict(RdsAddress(URL + query, sign=lambda *_: "t'ok en")())

    assert (made["sslmode"], made.get("sslrootcert")) == (mode, authority)
    assert (made["host"], made["port"], made["dbname"]) == (HOST, "6432", "ledger")
    assert made["password"] == "t'ok en"


@pytest.mark.parametrize("mode", ["disable", "allow", "prefer"])
def test_a_token_never_goes_in_the_clear(mode: str) -> None:
    with pytest.raises(InvalidSettings, match=f"sslmode={mode}"):
        RdsAddress(f"{URL}?sslmode={mode}", sign=lambda *_: "")


@pytest.mark.parametrize("url", ["postgresql:///ledger", "postgresql://host/ledger"])
def test_a_url_says_who_connects_where(url: str) -> None:
    with pytest.raises(InvalidSettings, match="a host and a user"):
        RdsAddress(url, sign=lambda *_: "")


@pytest.mark.usefixtures("credentials")
def test_a_token_is_what_awss_own_client_would_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    token = RdsTokens("eu-west-1")(HOST, 6432, "lamplighter")
    asked = parse_qs(urlsplit(f"https://{token}").query)
    monkeypatch.setattr("botocore.auth.get_current_datetime", lambda: _when(asked))
    client: Any = boto3.client("rds", region_name="eu-west-1")

    assert token == client.generate_db_auth_token(HOST, 6432, "lamplighter")
    assert token.startswith(f"{HOST}:6432/?")
    assert (asked["Action"], asked["DBUser"]) == (["connect"], ["lamplighter"])
    assert asked["X-Amz-Expires"] == ["900"]
    assert asked["X-Amz-Credential"][0].endswith("/eu-west-1/rds-db/aws4_request")
    assert asked["X-Amz-Security-Token"] == ["session"]


def test_without_credentials_the_ledger_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Session, "get_credentials", lambda _: None)

    with pytest.raises(LedgerUnavailable, match="no token for the database"):
        RdsTokens("eu-west-1")(HOST, 6432, "lamplighter")


def _when(asked: dict[str, list[str]]) -> Any:
    from datetime import datetime

    return datetime.strptime(asked["X-Amz-Date"][0], "%Y%m%dT%H%M%SZ")  # noqa: DTZ007 - botocore's
