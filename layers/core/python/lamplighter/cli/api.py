"""The API, as the command line speaks to it: one request at a time, every error in a sentence."""

import http.client
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import SplitResult, urlencode, urlsplit

import click
import msgspec

from lamplighter.cli.tables import plain

REFUSED: Final = 1
UNREACHABLE: Final = 3
_ANSWER_SECONDS: Final = 60.0
# Said by the gateway, in words of its own.
_NOT_LET_IN: Final = {http.client.UNAUTHORIZED, http.client.FORBIDDEN}


class Answer(msgspec.Struct, frozen=True):
    """`body` is JSON's, or text where it was sent as that. Names of headers are in lower case."""

    status: int
    body: Any
    headers: Mapping[str, str]


class Refused(click.ClickException):
    """The API said no. `code` is its word for it."""

    exit_code = REFUSED

    def __init__(self, message: str, code: str = "", status: int = 0) -> None:
        super().__init__(message)
        self.code = code
        self.status = status

    @property
    def is_temporary(self) -> bool:
        return self.status >= http.client.INTERNAL_SERVER_ERROR


class Unreachable(click.ClickException):
    """Nobody answers, or not in time."""

    exit_code = UNREACHABLE


class Api:
    def __init__(self, url: str, key: str | None = None) -> None:
        self._parts = _address(url)
        self._key = key
        self.url = self._parts.geturl().rstrip("/")

    def get(self, path: str, **query: Any) -> Answer:
        """Parameters that are None are left out."""
        given = {name: value for name, value in query.items() if value is not None}
        return self.call("GET", f"{path}?{urlencode(given)}" if given else path)

    def post(self, path: str, body: Any = None, key: str | None = None) -> Answer:
        return self.call("POST", path, body, {"Idempotency-Key": key} if key else {})

    def delete(self, path: str) -> Answer:
        return self.call("DELETE", path)

    def pages(self, path: str, **query: Any) -> Iterator[dict[str, Any]]:
        """Page after page, to the last."""
        while True:
            page = self.get(path, **query).body
            yield page
            if page["next_cursor"] is None:
                return
            query["cursor"] = page["next_cursor"]

    def call(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        sent = {"Accept": "application/json", **(headers or {})}
        if self._key:
            sent["Authorization"] = f"Bearer {self._key}"
        data = None
        if body is not None:
            data = json.dumps(body).encode()
            sent["Content-Type"] = "application/json"
        answer = self._exchange(method, path, data, sent)
        if answer.status >= http.client.BAD_REQUEST:
            raise _refusal(answer)
        return answer

    def _exchange(
        self, method: str, path: str, data: bytes | None, headers: dict[str, str]
    ) -> Answer:
        connection = self._connect()
        try:
            connection.request(method, self._parts.path.rstrip("/") + path, data, headers)
            response = connection.getresponse()
            return self._read(response, response.read())
        except (OSError, http.client.HTTPException) as problem:
            raise Unreachable(self._silence(problem)) from problem
        finally:
            connection.close()

    def _connect(self) -> http.client.HTTPConnection:
        host, port = self._parts.hostname or "", self._parts.port
        if self._parts.scheme == "https":
            return http.client.HTTPSConnection(host, port, timeout=_ANSWER_SECONDS)
        return http.client.HTTPConnection(host, port, timeout=_ANSWER_SECONDS)

    def _read(self, response: http.client.HTTPResponse, data: bytes) -> Answer:
        headers = {name.lower(): value for name, value in response.getheaders()}
        kind = headers.get("content-type", "").partition(";")[0]
        if kind == "text/plain" and response.status < http.client.BAD_REQUEST:
            return Answer(response.status, data.decode(errors="replace"), headers)
        try:
            return Answer(response.status, json.loads(data) if data else None, headers)
        except ValueError:
            said = f"status {response.status}, {plain(kind) or 'no content type'}"
            raise Refused(f"What answers at {self.url} is not Lamplighter: {said}.") from None

    def _silence(self, problem: Exception) -> str:
        reason = getattr(problem, "strerror", None) or str(problem) or type(problem).__name__
        return (
            f"Nothing answers at {self.url} ({reason}). Is `make up` running? "
            "--url or LAMPLIGHTER_URL say where else to look, --data which stack."
        )


def _address(url: str) -> SplitResult:
    said = f"{url!r} is no address; give http://host:port"
    refused = click.BadParameter(said, param_hint="--url")
    try:
        parts = urlsplit(url if "//" in url else f"//{url}", scheme="http")
        port = parts.port
    except ValueError:
        raise refused from None
    is_plain = url.isprintable() and " " not in url
    if parts.scheme not in {"http", "https"} or not parts.hostname or port == 0 or not is_plain:
        raise refused
    return parts


def _refusal(answer: Answer) -> Refused:
    error = answer.body.get("error") if isinstance(answer.body, dict) else None
    if not isinstance(error, dict) and answer.status in _NOT_LET_IN:
        return Refused(
            f"The API lets nobody in without a key that it knows (status {answer.status}). "
            "LAMPLIGHTER_API_KEY is where to put yours.",
            status=answer.status,
        )
    if not isinstance(error, dict):
        return Refused(f"The answer was status {answer.status}.", status=answer.status)
    lines = [str(error.get("message", ""))]
    lines += [f"  {name}: {error[name]}" for name in ("field", "hint") if error.get(name)]
    text = "\n".join(plain(line) for line in lines)
    return Refused(text, str(error.get("code", "")), answer.status)
