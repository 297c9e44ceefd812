"""The connection to Valkey: its scripts, and one error for callers."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from typing import Any, Final

import valkey
from valkey.exceptions import ConnectionError as NotConnected
from valkey.exceptions import NoScriptError, ResponseError
from valkey.exceptions import TimeoutError as TooSlow

from lamplighter.adapters.valkey.packing import PACKER
from lamplighter.ports.bus import BusUnavailable

# Worth another try: the server is away, restarting, or handing over to a replica.
AWAY: Final = (NotConnected, TooSlow)


@cache
def source(name: str) -> str:
    return (files(__package__) / "lua" / f"{name}.lua").read_text(encoding="utf-8")


class Server:
    """One pool of connections per process; every thread may use it."""

    def __init__(self, url: str, *, answer_seconds: float) -> None:
        # Any: half of the driver's methods have no types.
        self.client: Any = valkey.Valkey.from_url(
            url,
            socket_timeout=answer_seconds,
            socket_connect_timeout=answer_seconds,
            command_packer=PACKER,
        )
        self._scripts: dict[str, Any] = {}

    def run(self, name: str, keys: Sequence[str], arguments: Sequence[Any]) -> Any:
        """Run lua/<name>.lua. Its errors are the driver's: see `translated`."""
        script = self._scripts.get(name)
        if script is None:
            script = self._scripts[name] = self.client.register_script(source(name))
        return script(keys=keys, args=arguments)

    def run_and_sync(self, name: str, keys: Sequence[str], arguments: Sequence[Any]) -> None:
        """The same, and then wait until it has reached the disk."""
        try:
            self._run_and_sync(name, keys, arguments)
        except NoScriptError:
            self.client.script_load(source(name))
            self._run_and_sync(name, keys, arguments)

    def _run_and_sync(self, name: str, keys: Sequence[str], arguments: Sequence[Any]) -> None:
        # In one pipeline, because the server waits for what came over the same connection.
        with self.client.pipeline(transaction=False) as pipe:
            sha = self.client.register_script(source(name)).sha
            pipe.evalsha(sha, len(keys), *keys, *arguments)
            pipe.waitaof(1, 0, 0)
            pipe.execute()

    def close(self) -> None:
        self.client.close()


@contextmanager
def translated(doing: str) -> Iterator[None]:
    try:
        yield
    except (*AWAY, ResponseError) as failed:
        raise BusUnavailable(f"Valkey could not {doing}: {failed}") from failed
