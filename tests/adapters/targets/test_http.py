"""Webhooks: what is sent, how it is signed, what an answer means, and when it stops."""

import base64
import hashlib
import hmac
import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lamplighter.adapters.targets.http.sending import DirectSender
from lamplighter.adapters.targets.http.signing import sign
from lamplighter.adapters.targets.http.target import HttpTarget, _retry_after
from lamplighter.domain.run import Claimed, Verdict
from lamplighter.ports.target import Context, HttpRequest, HttpResponse, Sender
from lamplighter.stages.run import Runner
from tests.adapters.targets.conftest import SECRETS
from tests.adapters.targets.couriering import a_courier
from tests.adapters.targets.receiver import Receiver, a_receiver
from tests.adapters.targets.running import KnownSecrets, a_runner, claim, run_all, run_one

# A moment, also where the machine stands still for a while; the receiver would take 30 s.
SOON = 15.0


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with a_receiver() as made:
        yield made


@pytest.fixture(params=["direct", "courier"])
def sender(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sender]:
    """Whatever is true of one way out is true of the other."""
    if request.param == "direct":
        yield DirectSender(allow_private=True)
    else:
        with a_courier(monkeypatch) as courier:
            yield courier.sender


@pytest.fixture
def sending(tmp_path: Path, sender: Sender) -> Iterator[Runner]:
    runner = a_runner(tmp_path, secrets=KnownSecrets(**SECRETS), sender=sender)
    yield runner
    runner.close()


def webhook(url: str, payload: Any = None, **options: Any) -> Claimed:
    changed = {name: options.pop(name) for name in ("timeout_seconds",) if name in options}
    return claim({"type": "http", "url": url, **options}, payload, **changed)


def test_the_payload_is_posted_as_json_with_what_makes_it_exactly_once(
    sending: Runner, receiver: Receiver
) -> None:
    run = webhook(receiver.url("json?a=1"), {"order": 17})

    outcome = run_one(sending, run)

    assert outcome.verdict is Verdict.SUCCESS
    assert outcome.result == {"status": 200, "body": {"taken": [1, 2]}}
    [got] = receiver.received
    assert (got.method, got.path, json.loads(got.body)) == ("POST", "/json?a=1", {"order": 17})
    assert got.headers["content-type"] == "application/json"
    assert got.headers["idempotency-key"] == str(run.run_id)
    assert got.headers["webhook-id"] == got.headers["lamplighter-run-id"] == str(run.run_id)
    assert got.headers["lamplighter-job-id"] == str(run.job_id)
    assert (got.headers["lamplighter-fence"], got.headers["lamplighter-attempt"]) == ("7", "1")
    assert got.headers["lamplighter-fire-at"] == "2026-11-16T06:30:00.000+00:00"
    assert "webhook-signature" not in got.headers


def test_a_signed_one_can_be_verified_as_the_specification_says(
    sending: Runner, receiver: Receiver
) -> None:
    run_one(sending, webhook(receiver.url("200"), {"a": 1}, signing_secret={"secret": "signing"}))

    [got] = receiver.received
    key = base64.b64decode(SECRETS["signing"].removeprefix("whsec_"))
    parts = (got.headers["webhook-id"], got.headers["webhook-timestamp"], got.body.decode())
    digest = hmac.new(key, ".".join(parts).encode(), hashlib.sha256).digest()
    assert got.headers["webhook-signature"] == "v1," + base64.b64encode(digest).decode()
    assert abs(int(got.headers["webhook-timestamp"]) - time.time()) < 60


def test_the_signature_is_the_specifications_own_example() -> None:
    signed = sign(
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        1614265330,
        b'{"test": 2432232314}',
    )

    assert signed == "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


class Noting:
    """A courier that goes nowhere, for a deployment that signs with a secret of its own."""

    def __init__(self, folder: Path) -> None:
        self.requests: list[HttpRequest] = []
        self.runner = a_runner(folder, secrets=KnownSecrets(**SECRETS), sender=self)
        target = HttpTarget(self, signing_secret="plain words")
        self.runner.targets._targets[_http_spec()] = target  # type: ignore[attr-defined]

    def send(self, request: HttpRequest, context: Context) -> HttpResponse:  # noqa: ARG002
        self.requests.append(request)
        return HttpResponse(200, {}, b"")


def _signed_with(secret: str, request: HttpRequest) -> bool:
    told = request.headers
    signed = sign(secret, told["webhook-id"], int(told["webhook-timestamp"]), request.body)
    return told["webhook-signature"] == f"v1,{signed}"


def test_the_deployments_secret_signs_where_the_job_names_none(
    receiver: Receiver, tmp_path: Path
) -> None:
    noting = Noting(tmp_path)

    outcome = run_one(noting.runner, webhook(receiver.url("200")))

    [request] = noting.requests
    assert outcome.verdict is Verdict.SUCCESS
    assert _signed_with("plain words", request)
    assert receiver.received == []
    assert "webhook" not in repr(request)


def test_a_secret_that_the_job_names_signs_in_place_of_the_deployments(tmp_path: Path) -> None:
    """Else a receiver could not tell its own tenant from any other of the deployment."""
    noting = Noting(tmp_path)

    run_one(noting.runner, webhook("https://x.example/", signing_secret={"secret": "signing"}))

    [request] = noting.requests
    assert _signed_with(SECRETS["signing"], request)
    assert not _signed_with("plain words", request)


BODIES: list[tuple[dict[str, Any], Any, bytes, str | None]] = [
    ({"method": "GET"}, {"a": 1}, b"", None),
    ({"method": "DELETE"}, {"a": 1}, b"", None),
    ({"method": "PUT"}, {"a": 1}, b'{"a":1}', "application/json"),
    ({"method": "DELETE", "body": {"b": 2}}, {"a": 1}, b'{"b":2}', "application/json"),
    ({"body": "as it stands"}, {"a": 1}, b"as it stands", "text/plain; charset=utf-8"),
    ({"body": "x", "headers": {"Content-Type": "text/csv"}}, None, b"x", "text/csv"),
    ({"body": None}, {"a": 1}, b"", None),
    ({}, "a text", b'"a text"', "application/json"),
    ({}, None, b"", None),
]


def test_the_body_is_its_own_else_the_payload(sending: Runner, receiver: Receiver) -> None:
    for options, payload, body, kind in BODIES:
        outcome = run_one(sending, webhook(receiver.url("200"), payload, **options))

        assert outcome.verdict is Verdict.SUCCESS
        got = receiver.received[-1]
        assert (got.body, got.headers.get("content-type")) == (body, kind)


@pytest.mark.parametrize(
    ("status", "retryable"),
    [(400, False), (401, False), (404, False), (409, False), (422, False), (408, True),
     (425, True), (429, True), (500, True), (502, True), (503, True), (599, True)],
)  # fmt: skip
def test_a_refusal_is_for_good_and_a_bad_moment_is_not(
    sending: Runner, receiver: Receiver, status: int, retryable: bool
) -> None:
    outcome = run_one(sending, webhook(receiver.url(str(status))))

    assert (outcome.verdict, outcome.retryable) == (Verdict.FAILED, retryable)
    assert (outcome.error or "").startswith(f"HTTP {status}")
    assert (outcome.error or "").endswith("told so")


def test_retry_after_is_passed_on_as_a_hint(sending: Runner, receiver: Receiver) -> None:
    outcome = run_one(sending, webhook(receiver.url("busy")))

    assert outcome.error == "HTTP 503 Service Unavailable; try again in 17 s"


def test_retry_after_may_be_a_date_or_nonsense() -> None:
    assert _retry_after("Sun, 06 Nov 1994 08:49:37 GMT") == 0
    assert _retry_after("soon") is _retry_after(None) is None


def test_a_redirect_is_not_followed(sending: Runner, receiver: Receiver) -> None:
    outcome = run_one(sending, webhook(receiver.url("moved")))

    assert (outcome.verdict, outcome.retryable) == (Verdict.FAILED, False)
    assert "redirects are not followed" in (outcome.error or "")
    assert len(receiver.received) == 1


def test_an_answer_is_kept_up_to_a_limit_and_whatever_its_bytes(
    sending: Runner, receiver: Receiver
) -> None:
    large, binary, broken, head = run_all(
        sending,
        webhook(receiver.url("large")),
        webhook(receiver.url("binary")),
        webhook(receiver.url("broken")),
        webhook(receiver.url("json"), method="HEAD"),
    )

    assert large.result["truncated"]
    assert binary.result["body"] == "\ufffd\ufffd\ufffd"
    assert broken.result["body"] == '{"taken": '
    assert head.result == {"status": 200, "body": None}


@pytest.mark.parametrize("path", ["never", "drip"])
def test_one_that_never_answers_ends_at_its_deadline(
    sending: Runner, receiver: Receiver, path: str
) -> None:
    started = time.monotonic()

    outcome = run_one(sending, webhook(receiver.url(path), timeout_seconds=1))

    assert outcome.verdict is Verdict.TIMED_OUT
    assert "left behind" not in (outcome.error or "")
    assert time.monotonic() - started < SOON


def test_a_cancelled_one_is_cut_off_at_once(sending: Runner, receiver: Receiver) -> None:
    run = webhook(receiver.url("never"))
    outcomes = sending.run_batch([run])
    receiver.wait_for(1)

    started = time.monotonic()
    sending.cancel([run.run_id])
    [[outcome]] = outcomes

    assert outcome.verdict is Verdict.CANCELLED
    assert time.monotonic() - started < SOON


def test_one_that_hangs_up_may_be_tried_again(sending: Runner, receiver: Receiver) -> None:
    outcome = run_one(sending, webhook(receiver.url("hangup")))

    assert (outcome.verdict, outcome.retryable) == (Verdict.FAILED, True)
    assert f"127.0.0.1:{receiver.port} gave no answer" in (outcome.error or "")


def test_nobody_there_and_no_such_name_may_be_tried_again(sending: Runner) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    nobody, unknown = run_all(
        sending,
        webhook(f"http://127.0.0.1:{port}/"),
        webhook("http://no-such-host.invalid/"),
    )

    assert "Connection refused" in (nobody.error or "")
    assert "no-such-host.invalid has no address" in (unknown.error or "")
    assert nobody.retryable
    assert unknown.retryable


def test_a_server_that_speaks_no_http_is_a_failure(sending: Runner) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=_babble, args=(server,))
        thread.start()
        outcome = run_one(sending, webhook(f"http://127.0.0.1:{server.getsockname()[1]}/"))
        thread.join()

    assert outcome.verdict is Verdict.FAILED
    assert "gave no answer" in (outcome.error or "")


def test_a_certificate_that_nobody_vouches_for_is_refused(sending: Runner) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=_babble, args=(server,))
        thread.start()
        outcome = run_one(sending, webhook(f"https://127.0.0.1:{server.getsockname()[1]}/"))
        thread.join()

    assert outcome.verdict is Verdict.FAILED
    assert "SSL" in (outcome.error or "")


def test_a_secret_header_is_sent_and_masked_when_it_comes_back(
    sending: Runner, receiver: Receiver
) -> None:
    headers = {"Authorization": {"secret": "token"}}

    outcome = run_one(sending, webhook(receiver.url("echo"), headers=headers))

    assert receiver.received[0].headers["authorization"] == SECRETS["token"]
    assert SECRETS["token"] not in (outcome.error or "")


@pytest.mark.parametrize("ending", ["\r\nX-Injected: 1", "\n", "\r", "é", "\0"])
def test_a_secret_that_no_header_takes_is_neither_sent_nor_said(
    tmp_path: Path, receiver: Receiver, ending: str
) -> None:
    sender = DirectSender(allow_private=True)
    runner = a_runner(tmp_path, secrets=KnownSecrets(token=f"sesame{ending}"), sender=sender)

    outcome = run_one(runner, webhook(receiver.url("200"), headers={"X-A": {"secret": "token"}}))

    runner.close()
    assert (outcome.verdict, outcome.retryable) == (Verdict.FAILED, False)
    assert "X-A" in (outcome.error or "")
    assert "sesame" not in (outcome.error or "")
    assert receiver.received == []


def _babble(server: socket.socket) -> None:
    connection, _ = server.accept()
    with connection:
        connection.recv(10)
        connection.sendall(b"hello, who is there?\r\n\r\n")


def _http_spec() -> Any:
    from lamplighter.domain.target import HttpSpec

    return HttpSpec
