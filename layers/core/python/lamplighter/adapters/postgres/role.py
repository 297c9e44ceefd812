"""Whom the functions are in the database: a role that logs in by IAM, and may do what they do.

Two roles. `<role>` logs in, by IAM alone, and at once acts as `<role>_work`; that one reads and
writes every table, and owns the ledger's runs, because days are made, attached and retired while
everything goes on, and PostgreSQL lets only an owner do that. Nothing else is theirs to change.

Whoever migrates becomes a member of `<role>_work`, to alter those tables too, and never of
`<role>`: RDS refuses the password of whoever is, however indirectly, a member of `rds_iam`.
"""

from typing import Any, Final

import psycopg
from psycopg import Connection, sql

from lamplighter.adapters.postgres.address import Address, resolved
from lamplighter.domain.errors import LedgerUnavailable

_IAM: Final = "rds_iam"
_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtextextended('lamplighter:migrations', 0))"
_DAYS: Final = """
    SELECT relname FROM pg_class
    WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
      AND relname ~ '^job_runs(_[0-9]{8})?$' AND pg_get_userbyid(relowner) <> %s
"""
_GRANTS: Final = (
    "GRANT USAGE, CREATE ON SCHEMA public TO {work}",
    "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {work}",
    "GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {work}",
    "REVOKE INSERT, UPDATE, DELETE ON schema_migrations FROM {work}",
)


def ensure_role(address: Address, role: str) -> bool:
    """At every deployment, after migrating. False where there is no IAM: then nothing is done."""
    try:
        with psycopg.connect(resolved(address), connect_timeout=5) as conn:
            conn.execute(_LOCK)
            if not _exists(conn, _IAM):
                return False
            _make(conn, role, f"{role}_work")
            return True
    except psycopg.OperationalError as error:
        raise LedgerUnavailable(str(error)) from error


def _make(conn: Connection[Any], role: str, work: str) -> None:
    names = {name: sql.Identifier(name_of) for name, name_of in (("role", role), ("work", work))}
    if not _exists(conn, work):
        _do(conn, "CREATE ROLE {work} NOLOGIN", names)
    if not _exists(conn, role):
        _do(conn, "CREATE ROLE {role} LOGIN", names)
    _do(conn, "GRANT rds_iam TO {role}", names)
    _do(conn, "GRANT {work} TO {role}, CURRENT_USER", names)
    _do(conn, "ALTER ROLE {role} SET role TO {work}", names)
    for statement in _GRANTS:
        _do(conn, statement, names)
    for (table,) in conn.execute(_DAYS, (work,)).fetchall():
        _do(conn, "ALTER TABLE {table} OWNER TO {work}", names | {"table": sql.Identifier(table)})


def _do(conn: Connection[Any], statement: str, names: dict[str, sql.Identifier]) -> None:
    conn.execute(sql.SQL(statement).format(**names))


def _exists(conn: Connection[Any], role: str) -> bool:
    found = conn.execute("SELECT FROM pg_roles WHERE rolname = %s", (role,))
    return found.fetchone() is not None
