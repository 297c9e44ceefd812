"""Whom the functions are in the database: a role that logs in by IAM, and may do what they do.

Two roles. `<role>` logs in, by IAM alone, and at once acts as `<role>_work`; that one reads and
writes every table, and owns the ledger's runs, because days are made, attached and retired while
everything goes on, and PostgreSQL lets only an owner do that. Nothing else is theirs to change.

Whoever migrates, and so owns the tables, is another: a member of `<role>_work`, to alter those
tables too, and never of `<role>`, since RDS refuses the password of whoever is, however indirectly,
a member of `rds_iam`. It needs CREATEROLE only where the two are not there yet. Where it is
`<role>` itself, that has everything already, and nothing is done.
"""

from typing import Any, Final

import psycopg
from psycopg import Connection, sql

from lamplighter.adapters.postgres.address import Address, resolved
from lamplighter.domain.errors import LedgerUnavailable

_IAM: Final = "rds_iam"
_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtextextended('lamplighter:migrations', 0))"
_EXISTS: Final = "SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = %s)"
_IS_MEMBER: Final = "SELECT pg_has_role(%s, %s, 'MEMBER')"
_ACTS_AS: Final = """
    SELECT EXISTS (SELECT FROM pg_db_role_setting AS s JOIN pg_roles AS r ON r.oid = s.setrole
                   WHERE r.rolname = %s AND s.setdatabase = 0 AND %s = ANY (s.setconfig))
"""
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
    """At every deployment, after migrating. False where it is not for us to give: see above."""
    try:
        with psycopg.connect(resolved(address), connect_timeout=5) as conn:
            conn.execute(_LOCK)
            if conn.info.user == role or not _is(conn, _EXISTS, _IAM):
                return False
            names = _Names(conn, role)
            names.make()
            names.grant()
            return True
    except psycopg.OperationalError as error:
        raise LedgerUnavailable(str(error)) from error


class _Names:
    """The two roles, and who is connected. What is so already is not asked for again."""

    def __init__(self, conn: Connection[Any], role: str) -> None:
        self._conn = conn
        self._role, self._work = role, f"{role}_work"

    def make(self) -> None:
        role, work = self._role, self._work
        if not _is(self._conn, _EXISTS, work):
            self._do("CREATE ROLE {work} NOLOGIN")
        if not _is(self._conn, _EXISTS, role):
            self._do("CREATE ROLE {role} LOGIN")
        if not _is(self._conn, _IS_MEMBER, role, _IAM):
            self._do("GRANT rds_iam TO {role}")
        if not _is(self._conn, _IS_MEMBER, role, work):
            self._do("GRANT {work} TO {role}")
        if not _is(self._conn, "SELECT pg_has_role(%s, 'USAGE')", work):
            self._do("GRANT {work} TO CURRENT_USER")
        if not _is(self._conn, _ACTS_AS, role, f"role={work}"):
            self._do("ALTER ROLE {role} SET role TO {work}")

    def grant(self) -> None:
        for statement in _GRANTS:
            self._do(statement)
        for (table,) in self._conn.execute(_DAYS, (self._work,)).fetchall():
            self._do("ALTER TABLE {table} OWNER TO {work}", table=table)

    def _do(self, statement: str, **more: str) -> None:
        named = {"role": self._role, "work": self._work, **more}
        quoted = {name: sql.Identifier(value) for name, value in named.items()}
        self._conn.execute(sql.SQL(statement).format(**quoted))


def _is(conn: Connection[Any], question: str, *about: str) -> bool:
    [(answer,)] = conn.execute(question.encode(), about).fetchall()
    return bool(answer)
