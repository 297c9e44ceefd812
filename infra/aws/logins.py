"""Who enters the database: one login makes the tables, another uses them. Both by IAM alone.

Plain Python, so that a PostgreSQL without AWS around it can be asked whether it takes the SQL.
"""

from typing import Final

DATABASE: Final = "lamplighter"
LOGIN: Final = "lamplighter"
_MIGRATE: Final = "migrate"


def login_of(function: str) -> str:
    """Everybody works as the same; who migrates owns the tables, and is somebody else."""
    return migrating(LOGIN) if function == _MIGRATE else LOGIN


def migrating(login: str) -> str:
    return f"{login}_{_MIGRATE}"


def make_logins(login: str = LOGIN, database: str = DATABASE) -> str:
    """For RDS's own owner to run. Once more is as good as once: it runs whenever its text changes.

    One statement, since the Data API takes no more at a time. What the roles are to each other is
    in `lamplighter.adapters.postgres.role`; only what that needs CREATEROLE for is done here, and
    that `migrate` has not.
    """
    work, migrate = f"{login}_work", migrating(login)
    return f"""DO $$ BEGIN
{_unless_there(work, "NOLOGIN")}
{_unless_there(login, "LOGIN")}
{_unless_there(migrate, "LOGIN")}
GRANT rds_iam TO {login}, {migrate};
GRANT {work} TO {login}, {migrate};
ALTER ROLE {login} SET role TO {work};
GRANT CONNECT ON DATABASE {database} TO {login}, {migrate};
GRANT ALL ON SCHEMA public TO {migrate} WITH GRANT OPTION;
END $$"""


def _unless_there(role: str, may: str) -> str:
    return (
        f"IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{role}') THEN"
        f" CREATE ROLE {role} {may}; END IF;"
    )
