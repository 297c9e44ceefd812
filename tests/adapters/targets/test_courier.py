"""The courier: how webhooks share an invocation, and what becomes of them when it fails."""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from lamplighter import wiring
from lamplighter.adapters.targets.http import courier as module
from lamplighter.adapters.targets.http.courier import Parcel, _batches
from lamplighter.adapters.targets.http.sending import DirectSender
from lamplighter.contracts.courier import MOST_BYTES, MOST_REQUESTS, packed
from lamplighter.ports.target import HttpRequest, HttpResponse, TargetFailed
from lamplighter.stages.deliver import deliver
from lamplighter.wiring import running
from tests.adapters.targets.couriering import Courier, a_courier
from tests.adapters.targets.receiver import Receiver, a_receiver


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with a_receiver() as made:
        yield made


@pytest.fixture
def courier(monkeypatch: pytest.MonkeyPatch) -> Iterator[Courier]:
    monkeypatch.setattr(module, "_PAUSES", (0.001, 0.001))
    with a_courier(monkeypatch) as made:
        yield made


def request(url: str, **changed: Any) -> HttpRequest:
    given = HttpRequest("POST", url, {"x-token": "hush"}, b"\x00\xff", 10.0, 1000)
    return msgspec.structs.replace(given, **changed)


def together(courier: Courier, *requests: HttpRequest) -> list[HttpResponse]:
    """All at once, as the threads of a runner do."""
    with ThreadPoolExecutor(len(requests)) as threads:
        return list(threads.map(courier.sender.send_alone, requests))


def test_a_herd_shares_an_invocation(
    courier: Courier, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_GATHER_SECONDS", 0.3)

    answers = together(courier, *[request(receiver.url(str(200 + n))) for n in range(5)])

    assert [answer.status for answer in answers] == [200, 201, 202, 203, 204]
    assert [len(json.loads(each)["requests"]) for each in courier.payloads] == [5]
    assert {each.body for each in receiver.received} == {b"\x00\xff"}
    assert all(seconds >= 10 for seconds in courier.read_seconds)


def test_nobody_waits_for_anothers_receiver_or_for_one_with_more_time(
    courier: Courier, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_GATHER_SECONDS", 0.3)
    other = receiver.url("200").replace("127.0.0.1", "localhost")

    together(
        courier,
        request(receiver.url("200")),
        request(other),
        request(receiver.url("200"), timeout_seconds=250.0),
    )

    assert [len(json.loads(each)["requests"]) for each in courier.payloads] == [1, 1, 1]


def test_a_batch_fits_both_ways(receiver: Receiver) -> None:
    many = [Parcel(request(receiver.url("200"))) for _ in range(MOST_REQUESTS + 1)]
    large = [Parcel(request(receiver.url("200"), body=b"x" * 1_500_000)) for _ in range(4)]
    wordy = [Parcel(request(receiver.url("200"), keep_bytes=1_500_000)) for _ in range(4)]

    for parcels in (many, large, wordy):
        batches = list(_batches(parcels))
        assert [each for batch in batches for each in batch] == parcels
        assert len(batches) > 1
        for batch in batches:
            assert len(packed([each.request for each in batch])) < 6_000_000
            assert sum(each.request.keep_bytes * 4 / 3 for each in batch) < 6_000_000
        # None could have been one with the next.
        for one, two in pairwise(batches):
            weights = [sum(each.weight[way] for each in [*one, two[0]]) for way in (0, 1)]
            assert max(weights) > MOST_BYTES or len(one) == MOST_REQUESTS


def test_one_that_is_too_large_is_refused_for_good(courier: Courier) -> None:
    with pytest.raises(TargetFailed, match="more than the courier can carry") as refused:
        courier.sender.send_alone(request("http://a.example/", body=b"x" * 5_000_000))

    assert not refused.value.retryable
    assert courier.payloads == []


def _lambda_says(status: int, code: str) -> tuple[int, dict[str, str], bytes]:
    words = json.dumps({"Type": "User", "message": "no"}).encode()
    return status, {"x-amzn-errortype": code}, words


def test_a_busy_lambda_is_asked_again_and_sends_once(courier: Courier, receiver: Receiver) -> None:
    handled, turns = courier.answer, iter(range(9))

    def answer(payload: bytes) -> tuple[int, dict[str, str], bytes]:
        return handled(payload) if next(turns) else _lambda_says(429, "TooManyRequestsException")

    courier.answer = answer

    assert courier.sender.send_alone(request(receiver.url("200"))).status == 200
    assert (len(courier.payloads), len(receiver.received)) == (2, 1)


@pytest.mark.parametrize(
    ("answer", "invocations"),
    [
        (_lambda_says(429, "TooManyRequestsException"), 3),
        (_lambda_says(403, "AccessDeniedException"), 1),
        (_lambda_says(404, "ResourceNotFoundException"), 1),
        (_lambda_says(502, "EC2UnexpectedException"), 1),
        ((200, {"x-amz-function-error": "Unhandled"}, b'{"errorMessage":"hush"}'), 1),
        ((200, {}, b"no JSON"), 1),
        ((200, {}, b'{"replies":[]}'), 1),
    ],
)
def test_a_courier_that_fails_says_nothing_against_the_webhook(
    courier: Courier, answer: tuple[int, dict[str, str], bytes], invocations: int
) -> None:
    """As a connection that fails: it may be tried again, and no secret is in its words."""
    courier.answer = lambda _: answer

    with pytest.raises(TargetFailed, match="the courier gave no answer") as failed:
        courier.sender.send_alone(request("http://a.example/"))

    assert failed.value.retryable
    assert "hush" not in str(failed.value)
    assert len(courier.payloads) == invocations


def test_the_courier_goes_where_webhooks_may_go_and_nowhere_else(
    courier: Courier, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LAMPLIGHTER_ALLOW_PRIVATE_ADDRESSES")
    wiring.forget()

    for url in (receiver.url("200"), "http://169.254.169.254/latest/", "http://[::1]:9001/"):
        with pytest.raises(TargetFailed, match="where webhooks may not go") as refused:
            courier.sender.send_alone(request(url))
        assert not refused.value.retryable
    assert receiver.received == []


def test_of_an_answers_headers_only_those_come_back_that_are_read(
    courier: Courier, receiver: Receiver
) -> None:
    moved = courier.sender.send_alone(request(receiver.url("moved")))
    busy = courier.sender.send_alone(request(receiver.url("busy")))

    assert moved.headers["location"]
    assert busy.headers["retry-after"] == "17"
    assert "date" not in moved.headers


@pytest.mark.parametrize("path", ["never", "drip"])
def test_one_without_a_run_is_cut_off_when_its_time_is_over(receiver: Receiver, path: str) -> None:
    sender = DirectSender(allow_private=True)

    with pytest.raises(TargetFailed, match="timed out"):
        sender.send_alone(request(receiver.url(path), timeout_seconds=0.2))


def test_a_round_ends_in_time_whoever_hangs() -> None:
    """Where nothing can be cut off: a resolver of names takes as long as it likes."""
    freed = threading.Event()

    def hang(given: HttpRequest) -> HttpResponse:
        if given.method == "GET":
            freed.wait(20)
        if given.method == "PUT":
            raise RuntimeError("hush")
        return HttpResponse(200, {}, b"")

    quick, hung, broken = deliver(
        [request("", method=method) for method in ("POST", "GET", "PUT")], hang, 0.1
    )
    freed.set()

    assert quick.response is not None
    assert hung.problem == "no answer in time"
    assert broken.problem == "broke: RuntimeError"
    assert deliver([], hang, 1) == []


def test_settings_choose_the_courier_for_webhooks_and_alerts(
    courier: Courier, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert isinstance(running.sender(), DirectSender)
    monkeypatch.setenv("LAMPLIGHTER_COURIER_FUNCTION", "cell-courier")
    wiring.forget()

    assert isinstance(running.sender(), module.CourierSender)
    assert running.sender() is running.sender()
    assert isinstance(wiring.messenger(), DirectSender)
