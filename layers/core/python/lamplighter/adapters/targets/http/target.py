"""Makes a webhook of a run, and a result or an error of the answer."""

import time
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, Final

import msgspec

from lamplighter.adapters.targets.http.signing import signed_headers
from lamplighter.domain.ids import fire_of
from lamplighter.domain.run import Claimed
from lamplighter.domain.target import HttpSpec, Secret
from lamplighter.domain.target_rules import is_header_value
from lamplighter.ports.secrets import Held, told
from lamplighter.ports.target import (
    Context,
    HttpRequest,
    HttpResponse,
    Sender,
    TargetFailed,
    TargetResult,
)

KEPT_BYTES: Final = 16 * 1024
# The receiver says "not now" rather than "not so".
_TRY_AGAIN: Final = frozenset({408, 425, 429})
_WITHOUT_BODY: Final = frozenset({"GET", "HEAD", "DELETE"})
_QUOTED: Final = 200


class HttpTarget:
    def __init__(self, sender: Sender, signing_secret: Held | None = None) -> None:
        self._sender = sender
        self._signing_secret = signing_secret

    def run(self, spec: HttpSpec, context: Context) -> TargetResult:
        request = self._request(spec, context)
        return judge(self._sender.send(request, context))

    def is_quick(self, _spec: HttpSpec) -> bool:
        return False

    def patience(self, _spec: HttpSpec) -> float:
        return 2.0  # it is cut off at once; the rest is for a busy machine

    def _request(self, spec: HttpSpec, context: Context) -> HttpRequest:
        run = context.run
        body, kind = _body(spec, run.payload)
        secret = self._secret(spec, context)
        headers = {"user-agent": "Lamplighter", **kind}
        headers |= {
            name.lower(): _value(name, value, context) for name, value in spec.headers.items()
        }
        headers |= about(run)
        headers |= signed_headers(secret, str(run.run_id), int(time.time()), body)
        return HttpRequest(spec.method, spec.url, headers, body, context.remaining(), KEPT_BYTES)

    def _secret(self, spec: HttpSpec, context: Context) -> str | None:
        """The job's own, else the deployment's."""
        if spec.signing_secret is not None:
            return context.reveal(spec.signing_secret)
        return None if self._signing_secret is None else told(self._signing_secret)


def _value(name: str, value: str | Secret, context: Context) -> str:
    """A secret is first seen here. Whoever else refused it would say it aloud, quoted."""
    revealed = context.reveal(value)
    if not is_header_value(revealed):
        raise TargetFailed(
            f"the secret of header {name} has characters that no header takes", retryable=False
        )
    return revealed


def _body(spec: HttpSpec, payload: Any) -> tuple[bytes, dict[str, str]]:
    """A body of its own, else the payload; text as it stands, all else as JSON."""
    given = spec.body
    if given is msgspec.UNSET:
        given = None if spec.method in _WITHOUT_BODY else payload
    if given is None:
        return b"", {}
    if isinstance(given, str) and spec.body is not msgspec.UNSET:
        return given.encode(errors="replace"), {"content-type": "text/plain; charset=utf-8"}
    return msgspec.json.encode(given), {"content-type": "application/json"}


def about(run: Claimed) -> dict[str, str]:
    traced = {} if run.traceparent is None else {"traceparent": run.traceparent}
    return traced | {
        "idempotency-key": str(run.run_id),
        "lamplighter-run-id": str(run.run_id),
        "lamplighter-job-id": str(run.job_id),
        "lamplighter-fence": str(run.fence),
        "lamplighter-attempt": str(run.attempt),
        "lamplighter-fire-at": fire_of(run.run_id).isoformat(timespec="milliseconds"),
    }


def judge(response: HttpResponse) -> TargetResult:
    """2xx is success. The rest fails, for good where the request itself was refused."""
    status = response.status
    if 200 <= status < 300:
        return TargetResult({"status": status, "body": _shown(response)})
    if 300 <= status < 400:
        where = response.headers.get("location", "elsewhere")
        raise TargetFailed(
            f"HTTP {status}: points to {where[:_QUOTED]}; redirects are not followed,"
            " change the url",
            retryable=False,
        )
    said = response.body[:_QUOTED].decode(errors="replace").strip()
    raise TargetFailed(
        f"HTTP {status} {_phrase(status)}".rstrip() + (f": {said}" if said else ""),
        retryable=status in _TRY_AGAIN or status >= 500,
        retry_after_seconds=_retry_after(response.headers.get("retry-after")),
    )


def _shown(response: HttpResponse) -> Any:
    """JSON as JSON, if all of it was kept; anything else as text."""
    if "json" in response.headers.get("content-type", "") and not response.truncated:
        try:
            return msgspec.json.decode(response.body)
        except (msgspec.DecodeError, RecursionError):
            pass
    text = response.body.decode(errors="replace")
    return f"{text} … cut at {len(response.body):,} bytes" if response.truncated else text or None


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


def _retry_after(header: str | None) -> float | None:
    """Seconds, or a date; None where it is neither."""
    if header is None:
        return None
    if header.strip().isdecimal():
        return float(header)
    try:
        wait = parsedate_to_datetime(header) - datetime.now(UTC)
    except (TypeError, ValueError):
        return None
    return max(0.0, round(wait.total_seconds()))
