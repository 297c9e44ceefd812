"""The logins that a first deployment makes, in a database as RDS hands it over, and their use."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from functions.migrate.handler import handler as migrate
from functions.watcher.handler import handler as watcher
from infra.aws.logins import make_logins, migrating
from infra.local.lambdas import Context
from infra.local.postgres import Postgres
from infra.local.valkey import Valkey
from lamplighter import wiring
from lamplighter.adapters.postgres.listing import PostgresQueryLedger
from lamplighter.wiring import stores
from tests.adapters.ledger.builders import one_off
from tests.functions.calling import recorded
from tests.functions.rds import PASSWORD, as_user, name_of, rds_owner, refused


@pytest.fixture
def owner(postgres_server: Postgres) -> Iterator[str]:
    with rds_owner(postgres_server) as url:
        yield url


@pytest.fixture
def oldest(postgres16_server: Postgres) -> Iterator[str]:
    """Aurora's version lies between the two."""
    with rds_owner(postgres16_server) as url:
        yield url


def _make(owner: str) -> str:
    """Twice, as at a first deployment and after a change of the text."""
    login = f"lamp_{uuid4().hex[:8]}"
    with psycopg.connect(owner, autocommit=True) as conn:
        for _ in range(2):
            conn.execute(make_logins(login, name_of(owner)).encode())
        for name in (login, migrating(login)):
            alter = sql.SQL("ALTER ROLE {} PASSWORD {}").format(sql.Identifier(name), PASSWORD)
            conn.execute(alter)
    return login


@pytest.fixture
def environment(
    valkey_server: Valkey, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[pytest.MonkeyPatch]:
    monkeypatch.setenv("LAMPLIGHTER_DATABASE_IAM", "true")
    monkeypatch.setenv("LAMPLIGHTER_VALKEY_URL", valkey_server.url)
    monkeypatch.setenv("LAMPLIGHTER_CELL", f"c{uuid4().hex[:12]}")
    monkeypatch.setenv("LAMPLIGHTER_DATA_DIR", str(folder))
    monkeypatch.setenv("LAMPLIGHTER_CANARY_SECONDS", "60")
    monkeypatch.setenv("LAMPLIGHTER_WATCH_SECONDS", "1")
    # No IAM signs here: the password that is in the URL stays.
    monkeypatch.setattr(stores, "address", lambda url: url)
    yield monkeypatch
    _forget()


def _forget() -> None:
    wiring.bus().close()
    wiring.ledger().close()
    wiring.forget()


def _deploy(environment: pytest.MonkeyPatch, owner: str, login: str) -> None:
    """As the stack tells the function `migrate`; then, as it tells the others."""
    environment.setenv("LAMPLIGHTER_DATABASE_URL", as_user(owner, migrating(login)))
    environment.setenv("LAMPLIGHTER_DATABASE_LOGIN", login)
    wiring.forget()
    assert migrate(recorded("migrate_create"), Context("migrate"))["role"] is True
    assert migrate({}, Context("migrate"))["role"] is True, "by hand it is no other"
    _forget()
    environment.delenv("LAMPLIGHTER_DATABASE_LOGIN")
    environment.setenv("LAMPLIGHTER_DATABASE_URL", as_user(owner, login))


def test_one_login_migrates_and_the_other_works(
    owner: str, environment: pytest.MonkeyPatch
) -> None:
    login = _make(owner)

    _deploy(environment, owner, login)

    assert watcher(recorded("watcher"), Context("watcher"))["planned"] >= 1
    _check_work(as_user(owner, login))


def test_the_oldest_postgresql_takes_the_logins_too(
    oldest: str, environment: pytest.MonkeyPatch
) -> None:
    login = _make(oldest)

    _deploy(environment, oldest, login)

    _check_work(as_user(oldest, login))


def _check_work(url: str) -> None:
    """Days come and go; no other table is theirs to change."""
    ledger = PostgresQueryLedger(url)
    now = ledger.now()
    assert ledger.submit([one_off(now)]).created
    ledger.ensure_partitions(now - timedelta(days=9), now + timedelta(days=9))
    assert ledger.drop_partitions(now - timedelta(days=1))
    ledger.close()
    with psycopg.connect(url, autocommit=True) as conn:
        for statement in ("DROP TABLE jobs", "ALTER TABLE jobs ADD COLUMN x int", "TRUNCATE jobs"):
            assert refused(conn, statement), statement


def test_both_logins_come_by_token_alone(owner: str) -> None:
    login = _make(owner)

    with psycopg.connect(owner) as conn:
        for name in (login, migrating(login)):
            asked = "SELECT pg_has_role(%s, 'rds_iam', 'MEMBER'), rolcreaterole, rolsuper"
            found = conn.execute(f"{asked} FROM pg_roles WHERE rolname = %s".encode(), (name, name))
            assert found.fetchone() == (True, False, False)
