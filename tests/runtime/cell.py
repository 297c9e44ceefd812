"""A cell whose functions all run as Lambda runs them, over real stores and a real bus.

Lambda's Kafka mapping is stood in for by the local stack's own: it calls the emulated functions.
"""

import json
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from infra.local.invoker import scheduled_event
from infra.local.mapping import Mapped, mapped
from infra.local.mapping import Mapping as KafkaMapping
from lamplighter.adapters.kafka.bus import KafkaBus
from lamplighter.adapters.kafka.config import KafkaAccess
from tests.runtime.conftest import Running

EVENTS: Final = Path(__file__).parents[2] / "events"
PATIENCE_SECONDS: Final = 60.0
_LOOK_SECONDS: Final = 0.05


def recorded(name: str) -> dict[str, Any]:
    event: dict[str, Any] = json.loads((EVENTS / f"{name}.json").read_text(encoding="utf-8"))
    return event


class Delivery(NamedTuple):
    """What the mapping called a function with, and what that answered."""

    event: dict[str, Any]
    answer: Any


class Cell:
    def __init__(
        self, start: Callable[[str, Mapping[str, str]], Running], settings: Mapping[str, str]
    ) -> None:
        self._start = start
        self._functions: dict[str, Running] = {}
        self.settings = settings
        self.bus = KafkaBus(KafkaAccess(settings["LAMPLIGHTER_KAFKA_BOOTSTRAP_SERVERS"]))
        self.deliveries: defaultdict[str, list[Delivery]] = defaultdict(list)

    def function(self, name: str) -> Running:
        """Started when first asked for."""
        if name not in self._functions:
            self._functions[name] = self._start(name, self.settings)
        return self._functions[name]

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """Through submit or query, as the gateway would; what was answered with 2xx."""
        name = "query" if method == "GET" else "submit"
        event = recorded(name) | {"routeKey": f"{method} {path}", "rawPath": path}
        event |= {"rawQueryString": "", "queryStringParameters": {}}
        event["requestContext"]["http"] |= {"method": method, "path": path}
        if body is not None:
            event["body"] = json.dumps(body)
        answer = self.function(name).invoke(event)
        assert 200 <= answer["statusCode"] < 300, answer
        return json.loads(answer["body"])

    @contextmanager
    def serving(self) -> Iterator[None]:
        """EventBridge and the mappings at their work."""
        over = threading.Event()
        self.function("watcher")
        watching = threading.Thread(target=self._watch, args=[over])
        watching.start()
        try:
            with (
                self.mapping(mapped("executor", "default"), self.function("executor")),
                self.mapping(mapped("recorder", "default"), self.function("recorder")),
                self.mapping(mapped("resolver", "default"), self.function("resolver")),
            ):
                yield
        finally:
            over.set()
            watching.join()

    @contextmanager
    def mapping(self, what: Mapped, function: Running) -> Iterator[None]:
        def deliver(event: dict[str, Any], _context: object) -> object:
            answer = function.invoke(event)
            self.deliveries[function.function].append(Delivery(event, answer))
            return answer

        mapping = KafkaMapping(what, self.bus, deliver)
        reading = threading.Thread(target=mapping.serve, args=[5.0])
        reading.start()
        try:
            yield
        finally:
            mapping.stop()
            reading.join()

    def _watch(self, over: threading.Event) -> None:
        while not over.is_set():
            self.function("watcher").invoke(scheduled_event(datetime.now(UTC)))


def until(what: Callable[[], Any]) -> Any:
    """What `what` returns, once that is true of something."""
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        if found := what():
            return found
        time.sleep(_LOOK_SECONDS)
    raise AssertionError(f"not within {PATIENCE_SECONDS:.0f} s")
