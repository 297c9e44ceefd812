"""The courier's handler, called as the executor calls it."""

import base64
import inspect
from collections.abc import Iterator
from typing import Any

import pytest

from functions.courier import handler as courier
from infra.local.lambdas import Context
from lamplighter import wiring
from tests.adapters.targets.receiver import Receiver, a_receiver
from tests.functions.calling import recorded


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    monkeypatch.setenv("LAMPLIGHTER_ALLOW_PRIVATE_ADDRESSES", "true")
    wiring.forget()
    with a_receiver() as made:
        yield made
    wiring.forget()


def event(receiver: Receiver) -> dict[str, Any]:
    """The recorded one, to a receiver that exists."""
    found = recorded("courier")
    found["requests"][0]["url"] = receiver.url("json")
    return found


def test_each_of_a_batch_is_sent_as_it_is_and_told_of_in_its_place(receiver: Receiver) -> None:
    sent, failed = courier.handler(event(receiver), Context("courier"))["replies"]

    [got] = receiver.received
    assert got.body == b'{"order":17}'
    assert got.headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    assert sent["response"]["status"] == 200
    assert base64.b64decode(sent["response"]["body"]) == b'{"taken": [1, 2]}'
    assert "no-such-host.invalid has no address" in failed["problem"]
    assert "response" not in failed


def test_nobody_outlives_the_invocation(receiver: Receiver) -> None:
    asked = event(receiver)
    asked["requests"][0]["url"] = receiver.url("never")

    late, _ = courier.handler(asked, Context("courier", seconds=3.2))["replies"]

    assert "timed out" in late["problem"]


def test_the_handler_is_short_and_needs_no_store(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LAMPLIGHTER_DATABASE_URL", "LAMPLIGHTER_VALKEY_URL"):
        monkeypatch.delenv(name, raising=False)
    wiring.forget()

    assert len(inspect.getsource(courier).splitlines()) < 40
    assert courier.handler({"requests": []}, Context("courier")) == {"replies": []}
