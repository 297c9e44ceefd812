"""Which components a stack has, how each is started, and what it is told."""

import http.client
import sys
from collections.abc import Container, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from infra.local import component
from infra.local.child import Command
from infra.local.component import kind_of
from infra.local.logfiles import renew
from infra.local.part import Component, mark_in
from infra.local.service import HOST
from lamplighter.domain.job import DEFAULT_POOL
from lamplighter.settings import PREFIX, Settings

# -P: modules come from where they are installed, and from no current folder.
PROGRAM: Sequence[str] = (sys.executable, "-P", "-m", component.__name__)
GATEWAY: Final = "gateway"
TASKS_POOL: Final = "tasks"
WATCHERS: Final = 2
# Two events of every run are written down: more than one process of Python can do beside the rest.
RECORDERS: Final = 2
# Lambda's pools are bounded by what one call may take, those of long-lived workers by this.
WORKER_LONGEST_SECONDS: Final = 24 * 3600
_ASK_SECONDS: Final = 2.0
_DOES: Final = {
    "watcher": "brings what is due to the bus; one leads, the other stands by",
    "recorder": "writes down what happened",
    "resolver": "frees what waited for it",
}


class Member(msgspec.Struct, frozen=True):
    """A component to be: its name, its pool where it serves one, and what to say of it."""

    name: str
    pool: str | None = None

    @property
    def does(self) -> str:
        return f"runs jobs of pool {self.pool}" if self.pool else _DOES.get(kind_of(self.name), "")


def members(settings: Settings, workers: int) -> Iterator[Member]:
    """`default` is read as Lambda reads it; every other pool has workers that live long."""
    yield Member(GATEWAY)
    for n in range(1, WATCHERS + 1):
        yield Member(f"watcher-{n}")
    for pool in settings.windows():
        for n in range(1, workers + 1):
            yield Member(_worker_name(pool, n), pool)
    for n in range(1, RECORDERS + 1):
        yield Member(f"recorder-{n}")
    yield Member("resolver")


def _worker_name(pool: str, n: int) -> str:
    if pool == DEFAULT_POOL:
        return f"executor-{n}"
    return f"worker-{n}" if pool == TASKS_POOL else f"worker-{pool}-{n}"


def environment(settings: Settings, inherited: Mapping[str, str]) -> dict[str, str]:
    """The starter's own, for PATH, TZ and credentials; of ours only what the settings say."""
    kept = {name: value for name, value in inherited.items() if not name.startswith(PREFIX)}
    return kept | variables(settings, inherited)


def variables(settings: Settings, given: Container[str] = ()) -> dict[str, str]:
    """The settings as `load` reads them. A default is told only where it was given as such."""
    said = msgspec.to_builtins(settings)
    usual = msgspec.to_builtins(Settings())
    named = {f"{PREFIX}{name.upper()}": name for name in said}
    return {
        variable: _text(said[name])
        for variable, name in named.items()
        if said[name] is not None and (variable in given or said[name] != usual[name])
    }


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class Roster:
    """Makes components that live in one data folder, under one lock."""

    def __init__(self, folder: Path, *, told: Mapping[str, str], lock: int, port: int) -> None:
        self._logs = folder.resolve() / "logs"
        self._told = told
        self._lock = lock
        self._port = port

    def component(self, member: Member) -> Component:
        answers = self._gateway_answers if member.name == GATEWAY else _at_once
        made = Component(
            member.name, self._command(member), self._logs, lock=self._lock, answers=answers
        )
        renew(made.log)
        return made

    def _command(self, member: Member) -> Command:
        options = ["--ready", str(mark_in(self._logs, member.name)), "--port", str(self._port)]
        told = dict(self._told)
        # On one's own machine a webhook to one's own server is the usual case.
        told.setdefault(f"{PREFIX}ALLOW_PRIVATE_ADDRESSES", "true")
        if member.pool:
            told[f"{PREFIX}POOL"] = member.pool
        if member.pool not in {None, DEFAULT_POOL}:
            told.setdefault(f"{PREFIX}LONGEST_SECONDS", str(WORKER_LONGEST_SECONDS))
        return Command(
            [*PROGRAM, member.name, *options], told, grace_seconds=component.GRACE_SECONDS
        )

    def _gateway_answers(self) -> bool:
        """Whatever it says: without Postgres it is not ready, and yet of use."""
        asked = http.client.HTTPConnection(HOST, self._port, timeout=_ASK_SECONDS)
        try:
            asked.request("GET", "/readyz")
            asked.getresponse().read()
        except (OSError, http.client.HTTPException):
            return False
        finally:
            asked.close()
        return True


def _at_once() -> bool:
    return True
