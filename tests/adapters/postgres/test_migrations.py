"""Migrations: what schema.sql says, from ten processes at once, and after any interruption."""

import subprocess
import sys
from importlib.resources import files

import psycopg
import pytest

from infra.local.postgres import Postgres, installation
from lamplighter.adapters import postgres as adapter
from lamplighter.adapters.postgres import migrate as module
from lamplighter.adapters.postgres.migrate import (
    MigrationBlocked,
    MigrationChanged,
    MigrationFailed,
    migrate,
    migrations,
)
from lamplighter.domain.errors import LedgerUnavailable
from tests.adapters.postgres.making import fresh
from tests.infra.local.waiting import wait_until

SECOND_NAME = "9999_pre_second.sql"


@pytest.fixture(params=[18, pytest.param(16, marks=pytest.mark.xdist_group("postgres16"))])
def server(request: pytest.FixtureRequest) -> Postgres:
    name = "postgres_server" if request.param == 18 else "postgres16_server"
    server: Postgres = request.getfixturevalue(name)
    return server


@pytest.fixture
def empty(postgres_server: Postgres) -> str:
    return postgres_server.ensure_database(fresh("empty-"))


def _dump(server: Postgres, url: str) -> list[str]:
    """The schema in PostgreSQL's own words, without the days."""
    program = installation(server.version) / "bin" / "pg_dump"
    options = ["--schema-only", "--no-owner", "--exclude-table=job_runs_2*"]
    text = subprocess.check_output([program, *options, url], text=True, timeout=60)
    # A newer pg_dump frames its output with a key that is drawn anew each time.
    return [
        line for line in text.splitlines() if not line.startswith(("\\restrict", "\\unrestrict"))
    ]


def test_the_migrations_leave_what_the_schema_file_says(server: Postgres) -> None:
    migrated = server.ensure_database(fresh("migrated-"))
    written = server.ensure_database(fresh("written-"))
    assert migrate(migrated) == list(migrations())
    with psycopg.connect(written) as conn:
        conn.execute((files(adapter) / "schema.sql").read_bytes())
        conn.commit()
        assert conn.execute("SELECT count(*) FROM ledger_bounds").fetchall() == [(1,)]

    assert _dump(server, migrated) == _dump(server, written)


def test_migrating_again_changes_nothing(server: Postgres) -> None:
    url = server.ensure_database(fresh("twice-"))
    migrate(url)
    before = _dump(server, url)
    assert migrate(url) == []
    assert _dump(server, url) == before


def test_names_say_the_order_and_the_moment() -> None:
    for number, name in enumerate(migrations(), start=1):
        assert name.startswith((f"{number:04}_pre_", f"{number:04}_post_"))


_MIGRATE = """
import sys
from lamplighter.adapters.postgres import migrate as module

second = sys.argv[2:]
if second:
    first = module.migrations()
    module.migrations = lambda: first | {"%s": second[0]}
print(module.migrate(sys.argv[1]))
""" % (SECOND_NAME)  # noqa: UP031 - the program is full of braces


def _start(url: str, *second: str) -> subprocess.Popen[str]:
    """A process of its own that migrates, with one migration more if it is given."""
    program = [sys.executable, "-c", _MIGRATE, url, *second]
    return subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_of_ten_processes_that_start_at_once_one_migrates_and_all_succeed(empty: str) -> None:
    processes = [_start(empty) for _ in range(10)]
    said = [process.communicate(timeout=60) for process in processes]
    assert [process.returncode for process in processes] == [0] * 10, said
    assert sorted(out.strip() for out, _ in said) == sorted(["[]"] * 9 + [str(list(migrations()))])


@pytest.fixture
def more(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Migrations beyond the real ones, to be filled by a test."""
    extra: dict[str, str] = {}
    real = migrations()
    monkeypatch.setattr(module, "migrations", lambda: real | extra)
    return extra


def test_a_migration_that_fails_leaves_the_ones_before_it(empty: str, more: dict[str, str]) -> None:
    first = list(migrations())
    more[SECOND_NAME] = "CREATE TABLE second (); SELECT 1 / 0"
    with pytest.raises(MigrationFailed, match=f"{SECOND_NAME}: division by zero"):
        migrate(empty)
    with psycopg.connect(empty) as conn:
        done = [row[0] for row in conn.execute("SELECT name FROM schema_migrations ORDER BY 1")]
        assert conn.execute("SELECT to_regclass('second')").fetchall() == [(None,)]
    assert done == first

    more[SECOND_NAME] = "CREATE TABLE second ()"
    assert migrate(empty) == [SECOND_NAME]
    assert migrate(empty) == []


def test_a_migration_whose_process_is_killed_goes_on_where_it_stopped(
    empty: str, more: dict[str, str]
) -> None:
    text = "CREATE TABLE second (); SELECT pg_advisory_xact_lock(7)"
    waiting = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objid = 7 AND NOT granted"
    with psycopg.connect(empty, autocommit=True) as conn:
        conn.execute("SELECT pg_advisory_lock(7)")
        process = _start(empty, text)
        wait_until(lambda: bool(conn.execute(waiting).fetchall()), "the second migration waits")
        process.kill()
        process.communicate(timeout=30)
        conn.execute("SELECT pg_advisory_unlock(7)")

    more[SECOND_NAME] = text
    assert migrate(empty) == [SECOND_NAME]


def test_a_lock_in_the_way_is_waited_for_a_few_times_and_then_named(
    empty: str, more: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    migrate(empty)
    monkeypatch.setattr(module, "LOCK_SECONDS", 0.05)
    more[SECOND_NAME] = "ALTER TABLE jobs ADD COLUMN second integer"
    with psycopg.connect(empty) as reader:
        reader.execute("SELECT FROM jobs")
        with pytest.raises(MigrationBlocked, match=f"{SECOND_NAME} waited 5 times.*pg_locks"):
            migrate(empty)
        assert reader.execute("SELECT count(*) FROM jobs").fetchall() == [(0,)]

    assert migrate(empty) == [SECOND_NAME]


def test_a_migration_of_somebody_else_is_not_waited_for_without_end(
    empty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TURN_SECONDS", 0.2)
    with psycopg.connect(empty, autocommit=True) as other:
        assert other.execute(module._LOCK).fetchall() == [(True,)]
        with pytest.raises(MigrationBlocked, match=r"another process.*pg_stat_activity"):
            migrate(empty)

    assert migrate(empty) == list(migrations())


def test_an_edited_migration_is_refused(empty: str, more: dict[str, str]) -> None:
    more[SECOND_NAME] = "CREATE TABLE second ()"
    migrate(empty)
    more[SECOND_NAME] = "CREATE TABLE second (number integer)"
    with pytest.raises(MigrationChanged, match=f"{SECOND_NAME}.*Restore it"):
        migrate(empty)
    more[SECOND_NAME] = "CREATE TABLE second ()"
    assert migrate(empty) == []


def test_a_database_that_is_not_there_is_unavailable(postgres_server: Postgres) -> None:
    with pytest.raises(LedgerUnavailable):
        migrate(postgres_server.url_for("nowhere"))
