"""Targets: what a run does. Each type is one class; the stage that runs them knows only this."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from enum import Enum
from typing import Any, Protocol, TypeVar

import msgspec

from lamplighter.domain.errors import LamplighterError
from lamplighter.domain.run import Claimed
from lamplighter.domain.target import Secret, TargetSpec

S_contra = TypeVar("S_contra", bound=TargetSpec, contravariant=True)


class TargetFailed(LamplighterError):
    """The attempt failed. Not retryable: the same call would fail the same way again."""

    def __init__(
        self, message: str, *, retryable: bool = True, retry_after_seconds: float | None = None
    ) -> None:
        hint = "" if retry_after_seconds is None else f"; try again in {retry_after_seconds:g} s"
        super().__init__(message + hint)
        self.retryable = retryable
        self.retry_after_seconds = retry_after_seconds


class SecretUnavailable(LamplighterError):
    """There is no secret of this name, or its store does not answer. Never says a value."""

    def __init__(self, message: str, *, retryable: bool) -> None:
        super().__init__(message)
        self.retryable = retryable


class StopReason(Enum):
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"


class Stopped(BaseException):
    """Ends a target whose time is over. No `except Exception` of somebody's handler swallows it."""


class TargetResult(msgspec.Struct, frozen=True):
    """What a target answered: any JSON value. What it printed went to the context's sinks."""

    result: Any = None


class Sink(Protocol):
    def write(self, data: bytes) -> None:
        """Keep the beginning and the end, send all of it to the log. Never blocks for long."""


class Context(Protocol):
    """What a target knows of its run beyond its document, and how it is told to stop."""

    @property
    def run(self) -> Claimed:
        """The run id is the idempotency key; the fence rises with every claim."""

    @property
    def timeout_seconds(self) -> float: ...

    @property
    def deadline(self) -> float:
        """On time.monotonic(). Passing it is noticed elsewhere: a target need only stop."""

    @property
    def stdout(self) -> Sink: ...

    @property
    def stderr(self) -> Sink: ...

    def remaining(self) -> float:
        """Seconds to the deadline, never below 0."""

    def cancelled(self) -> bool:
        """Whether to stop: somebody cancelled the run, or its time is over."""

    def on_stop(self, callback: Callable[[], None]) -> AbstractContextManager[None]:
        """Call this once when the run is to stop, at once where that was already said.

        It comes from another thread, and must neither block nor raise.
        """

    def sleep(self, seconds: float) -> None:
        """Wait; raises Stopped as soon as the run is to stop."""

    def reveal(self, value: str | Secret) -> str:
        """The text itself, or the secret that it names, which is masked in all that is kept."""


class Target(Protocol[S_contra]):
    """One type of target. Its instance is shared by all threads of the process."""

    def run(self, spec: S_contra, context: Context) -> TargetResult:
        """Do it. TargetFailed where it failed; Stopped, or anything, once told to stop."""

    def is_quick(self, spec: S_contra) -> bool:
        """It takes microseconds and cannot hang: worth no thread of its own, nor a timeout."""

    def patience(self, spec: S_contra) -> float:
        """Seconds in which it has stopped, once told to. After that it is left behind."""


class Found(msgspec.Struct, frozen=True):
    """A document, understood, and who can run it."""

    spec: TargetSpec
    target: Target[Any]
    quick: bool


class Targets(Protocol):
    def find(self, run: Claimed) -> Found:
        """Who runs this. InvalidJob where nobody can."""


class Secrets(Protocol):
    def resolve(self, tenant: str, name: str) -> str:
        """The present value of a tenant's secret. SecretUnavailable where there is none."""


class HttpRequest(msgspec.Struct, frozen=True):
    """One webhook, ready to go: signed, and with every secret in place. Never logged."""

    method: str
    url: str
    headers: dict[str, str]
    body: bytes
    timeout_seconds: float
    keep_bytes: int

    def __repr__(self) -> str:
        return f"HttpRequest({self.method} {self.url})"


class HttpResponse(msgspec.Struct, frozen=True):
    status: int
    headers: dict[str, str]  # names in lower case
    body: bytes  # up to `keep_bytes`
    truncated: bool = False


class Sender(Protocol):
    """Takes webhooks out of the house: this process itself, or a courier outside the network."""

    def send(self, request: HttpRequest, context: Context) -> HttpResponse:
        """Raises TargetFailed where no answer came."""
