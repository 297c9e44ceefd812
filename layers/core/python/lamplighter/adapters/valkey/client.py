"""The connection to Valkey: bounded in time, one error for callers, one tag for all keys."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import valkey
from valkey.backoff import NoBackoff
from valkey.retry import Retry

from lamplighter.adapters.valkey.packing import PACKER
from lamplighter.adapters.valkey.scripts import Script
from lamplighter.ports.queue import QueueEmptied, QueueUnavailable, StaleEpoch

Argument = bytes | str | int | float

# What one call carries. While a script runs nobody else is served, so it ends after a few
# milliseconds: a run costs some microseconds, a lane (a tenant's own queues) some tens of them.
# ElastiCache Serverless takes 3,999 arguments at most.
CHUNK: Final = 500
LANES: Final = 100

_QUEUE_KEYS: Final = (  # in the order of lua/keys.lua
    "sentinel",
    "job_queue",
    "waiting",
    "turns",
    "pools",
    "passes",
    "runs",
    "in_flight",
    "wake",
)


class Client:
    """One store, many threads. `cell` is the hash tag: all keys of a cell share a slot."""

    def __init__(
        self,
        url: str,
        *,
        cell: str = "lamplighter",
        connect_timeout: float = 1.0,
        timeout: float = 2.0,
    ) -> None:
        # Its own types are those of the asynchronous client as well; ours are in the port.
        self.store: Any = valkey.Valkey.from_url(
            url,
            socket_connect_timeout=connect_timeout,
            socket_timeout=timeout,
            socket_keepalive=True,
            # Whether to try again is decided here, where it is known what is safe to repeat.
            retry=Retry(NoBackoff(), 0),
            command_packer=PACKER,
        )
        self._tag = f"{{{cell}}}:"
        self.queue_keys = [self.key(name) for name in _QUEUE_KEYS]

    def key(self, name: str) -> str:
        return self._tag + name

    def ask(self, *command: Argument) -> Any:
        """A command that may be repeated: once more where the connection was lost."""
        return self._repeatably(lambda: self.store.execute_command(*command))

    def ask_many(self, commands: Iterable[Sequence[Argument]]) -> None:
        """Such commands, in one round trip."""
        with self.store.pipeline(transaction=False) as pipeline:
            for command in commands:
                pipeline.execute_command(*command)
            self._repeatably(pipeline.execute)

    def run(
        self, script: Script, arguments: Sequence[Argument], keys: Sequence[str] | None = None
    ) -> Any:
        """A script that may be repeated; over the keys of the queue, unless others are given."""
        return self._repeatably(lambda: self._run(script, keys or self.queue_keys, arguments))

    def run_once(self, script: Script, arguments: Sequence[Argument]) -> Any:
        with named_errors():
            return self._run(script, self.queue_keys, arguments)

    def _repeatably(self, work: Callable[[], Any]) -> Any:
        with named_errors():
            try:
                return work()
            except valkey.ConnectionError:
                return work()

    def _run(self, script: Script, keys: Sequence[str], arguments: Sequence[Argument]) -> Any:
        """By digest; with its text where the server does not know it (any more)."""
        given = [len(keys), *keys, *arguments]
        try:
            return self.store.execute_command("EVALSHA", script.sha, *given)
        except valkey.exceptions.NoScriptError:
            return self.store.execute_command("EVAL", script.text, *given)

    def close(self) -> None:
        self.store.close()


@contextmanager
def named_errors() -> Iterator[None]:
    """Everything that goes wrong becomes one of three errors."""
    try:
        yield
    except valkey.ValkeyError as error:
        raise _named(error) from error


def _named(error: valkey.ValkeyError) -> Exception:
    words = str(error)
    if isinstance(error, valkey.ResponseError):
        if words.startswith("STALE "):
            return StaleEpoch(words.removeprefix("STALE "))
        if words.startswith("EMPTIED "):
            return QueueEmptied(words.removeprefix("EMPTIED "))
    return QueueUnavailable(words or type(error).__name__)
