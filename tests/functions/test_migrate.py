"""Migrate, called as CloudFormation's custom resources are, and the role that it makes."""

import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from datetime import timedelta
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from functions.migrate.handler import handler as migrate
from functions.watcher.handler import handler as watcher
from infra.local.lambdas import Context
from infra.local.postgres import Postgres
from infra.local.valkey import Valkey
from lamplighter import wiring
from lamplighter.adapters.postgres import migrate as applying
from lamplighter.adapters.postgres.listing import PostgresQueryLedger
from lamplighter.adapters.postgres.migrate import migrate as apply
from lamplighter.adapters.postgres.role import ensure_role
from lamplighter.domain.canary import INTERNAL_TENANT, canary_id
from lamplighter.domain.errors import LedgerUnavailable
from lamplighter.domain.run import Outcome, Ticket, Verdict
from lamplighter.domain.states import RunState
from lamplighter.wiring import stores
from tests.adapters.ledger.builders import TENANT, one_off
from tests.functions.calling import recorded
from tests.functions.rds import PASSWORD, as_user, name_of, rds_owner, refused


@pytest.fixture
def cell(
    postgres_server: Postgres, valkey_server: Valkey, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    url = postgres_server.ensure_database(f"m{uuid4().hex}")
    monkeypatch.setenv("LAMPLIGHTER_DATABASE_URL", url)
    monkeypatch.setenv("LAMPLIGHTER_VALKEY_URL", valkey_server.url)
    monkeypatch.setenv("LAMPLIGHTER_CELL", f"c{uuid4().hex[:12]}")
    monkeypatch.setenv("LAMPLIGHTER_DATA_DIR", str(folder))
    monkeypatch.setenv("LAMPLIGHTER_CANARY_SECONDS", "60")
    monkeypatch.setenv("LAMPLIGHTER_WATCH_SECONDS", "1")
    wiring.forget()
    yield url
    wiring.bus().close()
    wiring.ledger().close()
    wiring.forget()


class _Secrets:
    """Secrets Manager, as far as it is asked."""

    def __init__(self, url: str) -> None:
        place = urlsplit(url)
        self._value = f'{{"username": "{place.username}", "password": "{place.password}"}}'
        self.asked: list[str] = []

    def value(self, secret_id: str) -> str:
        self.asked.append(secret_id)
        return self._value


def test_a_deployment_makes_the_canary_and_a_later_one_leaves_it(
    cell: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = _Secrets(cell)
    monkeypatch.setattr(stores, "kept_secrets", lambda: kept)
    monkeypatch.setenv("LAMPLIGHTER_DATABASE_URL", as_user(cell, "nobody"))
    wiring.forget()
    with pytest.raises(Exception, match="nobody"):  # the functions' own role may not even log in
        migrate(recorded("migrate"), Context("migrate"))
    monkeypatch.setenv("LAMPLIGHTER_DATABASE_URL", cell)
    wiring.forget()

    asked = recorded("migrate_create")
    asked["ResourceProperties"]["AdminSecret"] = "lamplighter/admin"
    created = migrate(asked, Context("migrate"))
    updated = migrate(recorded("migrate"), Context("migrate"))

    assert kept.asked == ["lamplighter/admin"]
    assert created["PhysicalResourceId"] == updated["PhysicalResourceId"] == "lamplighter-ledger"
    assert created["Data"] == {"Applied": len(created["applied"]), "Canary": str(canary_id(0))}
    assert created["role"] is False, "there is no IAM here"
    assert updated["applied"] == []
    assert len(wiring.ledger().runs(INTERNAL_TENANT, canary_id(0))) == 1


def _pass_on(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65_536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)


class _Door:
    """Before the same database: who knocks waits first, or is turned away so often."""

    def __init__(self, url: str, *, seconds: float = 0.0, refusals: int = 0) -> None:
        self.knocks = 0
        self._seconds, self._refusals = seconds, refusals
        self._place = urlsplit(url)
        self._door = socket.create_server(("127.0.0.1", 0))
        before = self._place.netloc.rpartition("@")[0]
        at = f"{before}@127.0.0.1:{self._door.getsockname()[1]}"
        self.url = self._place._replace(netloc=at).geturl()

    def __enter__(self) -> Self:
        self._people = ThreadPoolExecutor()
        self._people.submit(self._let_in)
        return self

    def __exit__(self, *_: object) -> None:
        self._door.shutdown(socket.SHUT_RDWR)  # whoever waits at it goes home
        self._people.shutdown()
        self._door.close()

    def _let_in(self) -> None:
        with suppress(OSError), ExitStack() as lines:
            while True:
                guest = lines.enter_context(self._door.accept()[0])
                self.knocks += 1
                if self.knocks <= self._refusals:
                    guest.close()
                    continue
                time.sleep(self._seconds)
                host = socket.create_connection((self._place.hostname, self._place.port))
                lines.enter_context(host)
                for way in ((guest, host), (host, guest)):
                    self._people.submit(_pass_on, *way)


def test_a_database_that_sleeps_is_waited_for(cell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Longer than anybody else would wait: a deployment that gives up is taken back as a whole."""
    with _Door(cell, seconds=6.0) as door:
        monkeypatch.setattr(wiring, "admin_database", lambda _: door.url)

        assert migrate({}, Context("migrate"))["applied"]


def test_a_database_that_turns_away_who_wakes_it_is_asked_again(
    cell: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(applying, "_KNOCK_SECONDS", 0.01)
    with _Door(cell, refusals=3) as door:
        monkeypatch.setattr(wiring, "admin_database", lambda _: door.url)

        assert migrate({}, Context("migrate"))["applied"]
    assert door.knocks >= 4


def test_a_database_that_turns_everybody_away_is_not_asked_for_ever(
    cell: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(applying, "_KNOCK_SECONDS", 0.01)
    with _Door(cell, refusals=1_000_000) as door, pytest.raises(LedgerUnavailable):
        apply(door.url, wake_seconds=1)

    assert door.knocks > 1


def test_a_database_that_is_awake_and_refuses_is_asked_once(cell: str) -> None:
    nobody = as_user(cell, "nobody")
    with _Door(nobody) as door, pytest.raises(LedgerUnavailable, match="nobody"):
        apply(door.url, wake_seconds=60)

    assert door.knocks == 1


def test_deleting_the_resource_needs_nothing_and_deletes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LAMPLIGHTER_DATABASE_URL", "postgresql://gone:gone@127.0.0.1:1/gone")
    wiring.forget()
    answered = migrate(recorded("migrate_delete"), Context("migrate"))
    wiring.forget()
    assert answered == {"PhysicalResourceId": "lamplighter-ledger"}


def test_the_canary_is_planned_as_any_other_job(cell: str) -> None:
    assert cell
    migrate({}, Context("migrate"))
    report = watcher(recorded("watcher"), Context("watcher"))
    assert report["planned"] >= 1


# The role that the functions log in with.


@pytest.fixture
def admin(postgres_server: Postgres) -> Iterator[str]:
    with rds_owner(postgres_server) as url:
        yield url


@pytest.fixture
def role(admin: str) -> str:
    """Made, twice, and given a password, since there is no IAM that would vouch for it."""
    name = f"lamp_{uuid4().hex[:8]}"
    apply(admin, days_ahead=2)
    assert ensure_role(admin, name)
    assert ensure_role(admin, name)
    with psycopg.connect(admin, autocommit=True) as conn:
        conn.execute(sql.SQL("ALTER ROLE {} PASSWORD {}").format(sql.Identifier(name), PASSWORD))
    return name


def test_the_role_does_all_that_the_functions_do(admin: str, role: str) -> None:
    ledger = PostgresQueryLedger(as_user(admin, role))
    now = ledger.now()
    job = one_off(now - timedelta(seconds=1))
    [due] = ledger.submit([job]).runs
    claimed = ledger.claim("w", uuid4(), [Ticket(due.run_id, 0)]).claimed
    outcome = Outcome(run_id=due.run_id, fence=claimed[0].fence, verdict=Verdict.SUCCESS)
    ledger.finish([outcome])
    ledger.ensure_partitions(now - timedelta(days=9), now + timedelta(days=9))
    dropped = ledger.drop_partitions(now - timedelta(days=5))

    assert ledger.run(TENANT, due.run_id).state is RunState.SUCCESS
    assert dropped
    ledger.close()


def test_the_role_changes_no_table_but_its_days(admin: str, role: str) -> None:
    with psycopg.connect(as_user(admin, role), autocommit=True) as conn:
        for statement in (
            "DROP TABLE jobs",
            "ALTER TABLE jobs ADD COLUMN x int",
            "TRUNCATE jobs",
            "CREATE INDEX ON jobs (name)",
            "DELETE FROM schema_migrations",
            "CREATE ROLE another",
            "SET ROLE pg_read_server_files",
        ):
            assert refused(conn, statement), statement
        assert not refused(conn, "DELETE FROM jobs")


def test_whoever_migrates_goes_on_doing_so_by_password(admin: str, role: str) -> None:
    """RDS lets a member of rds_iam in by token alone, and members of its members too."""
    ledger = PostgresQueryLedger(as_user(admin, role))
    ledger.ensure_partitions(ledger.now(), ledger.now() + timedelta(days=9))
    ledger.close()

    assert apply(admin, days_ahead=12) == []
    assert ensure_role(admin, role)

    with psycopg.connect(admin) as conn:
        conn.execute("ALTER TABLE job_runs ADD COLUMN added int")
        among = "SELECT pg_has_role(current_user, %s, 'USAGE')"
        assert conn.execute(among, (role,)).fetchone() == (False,)
        assert conn.execute(among, (f"{role}_work",)).fetchone() == (True,)
        iam = "SELECT pg_has_role(%s, 'rds_iam', 'MEMBER')"
        assert conn.execute(iam, (role,)).fetchone() == (True,)


def test_who_owns_everything_needs_no_role(admin: str) -> None:
    """A deployment may let one login do all: then migrating is all there is to do."""
    apply(admin, days_ahead=2)
    assert ensure_role(admin, str(urlsplit(admin).username)) is False


def test_roles_that_somebody_else_made_are_given_what_they_need(
    admin: str, postgres_server: Postgres
) -> None:
    """Who migrates may make tables here, and no roles."""
    name = f"lamp_{uuid4().hex[:8]}"
    owner, role, work = (sql.Identifier(each) for each in (f"{name}_owner", name, f"{name}_work"))
    database = postgres_server.url_for(name_of(admin))
    with psycopg.connect(database, autocommit=True) as conn:
        for made in (owner, role):
            conn.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(made, PASSWORD))
            conn.execute(sql.SQL("GRANT rds_iam TO {}").format(made))
        conn.execute(sql.SQL("CREATE ROLE {}").format(work))
        conn.execute(sql.SQL("GRANT {} TO {}, {}").format(work, role, owner))
        conn.execute(sql.SQL("ALTER ROLE {} SET role TO {}").format(role, work))
        conn.execute(sql.SQL("GRANT ALL ON SCHEMA public TO {} WITH GRANT OPTION").format(owner))
    migrating = as_user(admin, f"{name}_owner")
    apply(migrating, days_ahead=2)

    assert ensure_role(migrating, name)
    assert ensure_role(migrating, name)

    ledger = PostgresQueryLedger(as_user(admin, name))
    assert ledger.submit([one_off(ledger.now())]).created
    ledger.ensure_partitions(ledger.now(), ledger.now() + timedelta(days=9))
    ledger.close()
    assert apply(migrating, days_ahead=12) == []
    with psycopg.connect(as_user(admin, name)) as conn:
        assert refused(conn, "DROP TABLE jobs")


def test_where_there_is_no_iam_no_role_is_made(postgres_server: Postgres) -> None:
    url = postgres_server.ensure_database(f"n{uuid4().hex}")
    assert ensure_role(url, "lamplighter_nobody") is False
    with psycopg.connect(url) as conn:
        found = conn.execute("SELECT FROM pg_roles WHERE rolname = 'lamplighter_nobody'")
        assert found.fetchall() == []
