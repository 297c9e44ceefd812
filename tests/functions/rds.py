"""A database as RDS hands it over: its owner makes roles and owns it, and is no superuser."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote, urlsplit
from uuid import uuid4

import psycopg
from psycopg import errors, sql

from infra.local.postgres import Postgres

# Of every role here, since there is no IAM that would vouch for them.
PASSWORD = "of the test's own"


def as_user(url: str, user: str) -> str:
    place = urlsplit(url)
    netloc = f"{user}:{quote(PASSWORD, safe='')}@"
    return place._replace(netloc=netloc + place.netloc.rpartition("@")[2]).geturl()


def name_of(url: str) -> str:
    """The database's."""
    return urlsplit(url).path[1:]


@contextmanager
def rds_owner(server: Postgres) -> Iterator[str]:
    """The URL of a new database, as its owner."""
    url = server.ensure_database(f"r{uuid4().hex}")
    name = f"admin_{uuid4().hex[:8]}"
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute("SELECT pg_advisory_lock(4711)")
        if not conn.execute("SELECT FROM pg_roles WHERE rolname = 'rds_iam'").fetchall():
            conn.execute("CREATE ROLE rds_iam NOLOGIN")
        made = sql.Identifier(name)
        conn.execute(sql.SQL("CREATE ROLE {} LOGIN CREATEROLE PASSWORD {}").format(made, PASSWORD))
        conn.execute(sql.SQL("GRANT rds_iam TO {} WITH ADMIN OPTION").format(made))
        database = sql.Identifier(name_of(url))
        conn.execute(sql.SQL("ALTER DATABASE {} OWNER TO {}").format(database, made))
        conn.execute("SELECT pg_advisory_unlock(4711)")
    yield as_user(url, name)
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute("DROP ROLE rds_iam")


def refused(conn: psycopg.Connection[Any], statement: str) -> bool:
    try:
        with conn.transaction(force_rollback=True):
            conn.execute(statement.encode())
    except errors.InsufficientPrivilege:
        return True
    return False
