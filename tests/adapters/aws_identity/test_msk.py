"""Tokens for Kafka: as MSK wants them, and asked for by every kind of client by itself."""

import base64
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import pytest
from confluent_kafka import KafkaError, KafkaException

from infra.local.kafka.server import Kafka
from infra.local.service import HOST, free_port
from lamplighter.adapters.aws_identity.msk import MskTokens
from lamplighter.adapters.kafka import admin
from lamplighter.adapters.kafka.admin import KafkaTopics
from lamplighter.adapters.kafka.bus import KafkaBus
from lamplighter.adapters.kafka.config import KafkaAccess, made
from lamplighter.ports.bus import BusUnavailable, Consumer, Message, Record, Topic
from tests.adapters.aws_identity.certificates import certify
from tests.conftest import _folder

TOKENS = "listener.name.tokens."
LOGIN = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"


class GuardedKafka(Kafka):
    """With a second door, which asks for tokens over TLS. Those are not signed, but they end."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.authority = certify(folder / "tls")
        self.door = free_port()

    def _configuration(self) -> str:
        lines = dict(line.split("=", 1) for line in super()._configuration().splitlines())
        address = f"TOKENS://localhost:{self.door}"
        key = (self.authority.parent / "key.pem").read_text().replace("\n", " \\\n")
        chain = self.authority.read_text().replace("\n", " \\\n")
        lines["listeners"] += f",TOKENS://{HOST}:{self.door}"
        lines["advertised.listeners"] += f",{address}"
        lines["listener.security.protocol.map"] += ",TOKENS:SASL_SSL"
        lines |= {
            f"{TOKENS}sasl.enabled.mechanisms": "OAUTHBEARER",
            f"{TOKENS}oauthbearer.sasl.jaas.config": (
                f'{LOGIN} required unsecuredLoginStringClaim_sub="broker";'
            ),
            f"{TOKENS}ssl.keystore.type": "PEM",
            f"{TOKENS}ssl.keystore.key": key.strip(" \\\n"),
            f"{TOKENS}ssl.keystore.certificate.chain": chain.strip(" \\\n"),
        }
        return "".join(f"{name}={value}\n" for name, value in lines.items())


class Tokens:
    def __init__(self, lifetime: float = 900.0) -> None:
        self._lifetime = lifetime
        self.asked = 0

    def __call__(self) -> tuple[str, float]:
        self.asked += 1
        now = time.time()
        claims = {"sub": "lamplighter", "iat": now - 1, "exp": now + self._lifetime}
        parts = [_packed({"alg": "none"}), _packed(claims), ""]
        # The library is told that it has long: what counts here is what the broker thinks of it.
        return ".".join(parts), now + 900


@pytest.fixture(scope="module")
def broker() -> Iterator[GuardedKafka]:
    with _folder() as folder, GuardedKafka(folder) as server:
        yield server


def access(broker: GuardedKafka, tokens: Tokens) -> KafkaAccess:
    return KafkaAccess(f"localhost:{broker.door}", tokens, str(broker.authority))


@pytest.mark.kafka
def test_producer_administrator_and_consumers_prove_who_they_are(broker: GuardedKafka) -> None:
    tokens = Tokens()
    topic = f"t{uuid4().hex}"
    bus = KafkaBus(access(broker, tokens))
    counts = [tokens.asked]

    bus.ensure_topics([Topic(topic, 1, "nothing")])
    counts.append(tokens.asked)
    bus.publish([Message(topic, b"hello")])
    assert bus.lags("readers", [topic], seconds=10) == {(topic, 0): 1}
    counts.append(tokens.asked)
    consumer = bus.consumer("readers", [topic])
    [record] = _first(consumer)
    consumer.commit([record])
    consumer.close()
    bus.close()

    assert record.value == b"hello"
    # One for each client: the producer, the administrator, the counting reader, the consumer.
    assert [*counts, tokens.asked] == [1, 2, 3, 4]


@pytest.mark.kafka
def test_a_token_that_the_broker_refuses_is_told_as_a_bus_out_of_reach(
    broker: GuardedKafka,
) -> None:
    bus = KafkaBus(access(broker, Tokens(lifetime=-120)), publish_seconds=1)

    with pytest.raises(BusUnavailable):
        bus.publish([Message("topic", b"x")])

    bus.close()


def test_a_leader_that_counts_waits_for_no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library takes a second for the first; a lease ends half a second later."""
    let_go, tries = threading.Event(), []

    def make(config: dict[str, object]) -> object:
        tries.append(config["group.id"])
        let_go.wait(10)
        raise KafkaException(KafkaError(KafkaError.SASL_AUTHENTICATION_FAILED, "no token came"))

    monkeypatch.setattr(admin, "Consumer", make)
    topics = KafkaTopics(KafkaAccess("127.0.0.1:1"), replicas=-1, answer_seconds=1)

    for _ in range(2):
        with pytest.raises(BusUnavailable, match="still on its way"):
            topics.lags("g", ["t"], 0.01)
    let_go.set()
    for _ in range(2):
        with pytest.raises(BusUnavailable, match="no token came"):
            topics.lags("g", ["t"], 5)
    topics.close()

    assert tries == ["g", "g"]  # after one that failed, the next call tries anew


def test_whoever_gets_no_client_has_no_bus() -> None:
    def refuse(_config: dict[str, object]) -> None:
        raise KafkaException(KafkaError(KafkaError.SASL_AUTHENTICATION_FAILED, "no token came"))

    with pytest.raises(BusUnavailable, match="no token came"):
        made(refuse, {})


def test_a_token_is_a_signed_request_to_connect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    before = time.time()

    token, ends = MskTokens("eu-west-1")()

    url = urlsplit(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode())
    asked = parse_qs(url.query)
    assert url.netloc == "kafka.eu-west-1.amazonaws.com"
    assert asked["Action"] == ["kafka-cluster:Connect"]
    assert asked["X-Amz-Credential"][0].endswith("/eu-west-1/kafka-cluster/aws4_request")
    # Seconds, as the library wants them, where the signer says milliseconds.
    assert before + 890 < ends < time.time() + 910


def _first(consumer: Consumer) -> list[Record]:
    limit = time.monotonic() + 30
    while time.monotonic() < limit:
        if records := list(consumer.poll(10, 1.0)):
            return records
    raise AssertionError("nothing came")


def _packed(part: dict[str, object]) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")
