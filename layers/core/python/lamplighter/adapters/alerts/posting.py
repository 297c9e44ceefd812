"""Posts JSON to somebody outside, and says what an answer means for an alert."""

from collections.abc import Callable, Mapping

from lamplighter.adapters.targets.http.target import judge
from lamplighter.ports.alerts import AlertFailed
from lamplighter.ports.secrets import Held, told
from lamplighter.ports.target import HttpRequest, HttpResponse, SecretUnavailable, TargetFailed

Send = Callable[[HttpRequest], HttpResponse]

_TIMEOUT_SECONDS = 5.0
_KEPT_BYTES = 1_000


def known(held: Held) -> str:
    """A secret of the deployment; without it there is no alert, yet."""
    try:
        return told(held)
    except SecretUnavailable as problem:
        raise AlertFailed(str(problem), retryable=problem.retryable) from None


def post(send: Send, url: str, body: bytes, headers: Mapping[str, str] | None = None) -> None:
    """AlertFailed where the answer is not 2xx; for good where the request itself was refused."""
    sent = {"content-type": "application/json", "user-agent": "Lamplighter", **(headers or {})}
    try:
        judge(send(HttpRequest("POST", url, sent, body, _TIMEOUT_SECONDS, _KEPT_BYTES)))
    except TargetFailed as problem:
        raise AlertFailed(str(problem), retryable=problem.retryable) from None
