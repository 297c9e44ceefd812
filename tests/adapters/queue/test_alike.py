"""Memory and Valkey do the same, whatever is asked of them, in whatever order."""

from typing import Any, ClassVar
from uuid import UUID

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from hypothesis.stateful import run_state_machine_as_test as play

from lamplighter.adapters.valkey.client import Client
from lamplighter.domain.errors import LamplighterError
from lamplighter.domain.run import Due
from lamplighter.ports.queue import Queue, Ready
from tests.adapters.queue.builders import at, run
from tests.adapters.queue.stores import Store, memory_store, valkey_store

IDS = [UUID(int=n << 64) for n in range(1, 25)]
dues = st.builds(
    run,
    # Around the minutes at which a run rises a level, and around now.
    st.sampled_from([-900, -421, -420, -419, -361, -360, -300, -60, -1, 0, 1, 2, 5]),
    tenant=st.sampled_from(["a", "b", "c:d"]),
    pool=st.sampled_from(["x", "y"]),
    priority=st.integers(1, 10),
    fence=st.integers(0, 2),
    run_id=st.sampled_from(IDS),
)
batches = st.lists(dues, max_size=12, unique_by=lambda due: due.run_id)
some_ids = st.lists(st.sampled_from(IDS), max_size=8, unique=True)


class Alike(RuleBasedStateMachine):
    client: ClassVar[Client]

    @initialize()
    def start(self) -> None:
        self.stores = [memory_store(), valkey_store(self.client)]
        self.epoch, self.seconds = 0, 0.0
        self.popped: list[Ready] = []
        self.lead()

    def both(self, ask: Any) -> Any:
        """The one answer of both, or the one error."""
        first, second = [self._answer(store, ask) for store in self.stores]
        assert first == second
        return first

    @staticmethod
    def _answer(store: Store, ask: Any) -> Any:
        try:
            return ask(store.queue)
        except LamplighterError as error:
            return type(error)

    @rule()
    def lead(self) -> None:
        self.epoch += 1
        self.both(lambda queue: queue.begin(self.epoch, at(self.epoch), at(self.epoch // 2)))
        self.both(lambda queue: set(queue.take_over(self.epoch)))

    @rule(batch=batches, as_leader=st.booleans())
    def add(self, batch: list[Due], as_leader: bool) -> None:
        epoch = self.epoch if as_leader else None
        self.both(lambda queue: queue.add(batch, epoch=epoch))

    @rule(
        later=st.sampled_from([-1, 0, 0.001, 1, 60]),
        free=st.fixed_dictionaries({"x": st.integers(-1, 5)}, optional={"y": st.integers(0, 20)}),
        limit=st.integers(1, 20),
        kept=st.dictionaries(st.sampled_from("xy"), st.integers(0, 12)),
        late=st.sampled_from([0, 0, 0, 1]),
    )
    def tick(
        self, later: float, free: dict[str, int], limit: int, kept: dict[str, int], late: int
    ) -> None:
        self.seconds += later
        epoch, now = self.epoch - late, at(self.seconds)
        ticked = self.both(lambda queue: queue.tick(epoch, now, free, limit, kept))
        self.popped += getattr(ticked, "runs", [])

    @rule(data=st.data(), late=st.sampled_from([0, 0, 0, 1]))
    def publish(self, data: st.DataObject, late: int) -> None:
        out = data.draw(st.lists(st.sampled_from(self.popped), unique=True)) if self.popped else []
        self.both(lambda queue: queue.published(self.epoch - late, out))

    @rule(run_ids=some_ids)
    def remove(self, run_ids: list[UUID]) -> None:
        self.both(lambda queue: queue.remove(run_ids))

    @rule()
    def lose_everything(self) -> None:
        for store in self.stores:
            store.empty()

    @invariant()
    def both_look_alike(self) -> None:
        if hasattr(self, "stores"):
            self.both(lambda queue: queue.holds(IDS))
            self.both(lambda queue: queue.next_due())
            self.both(lambda queue: queue.counts())
            self.both(self._depths)

    def _depths(self, queue: Queue) -> set[Any]:
        return {(each.pool, each.tenant, each.runs) for each in queue.depth(at(self.seconds))}


def test_memory_and_valkey_are_alike(valkey_client: Client) -> None:
    machine = type("AlikeHere", (Alike,), {"client": valkey_client})
    bounds = settings(
        max_examples=120,
        stateful_step_count=25,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    play(machine, settings=bounds)


@pytest.mark.parametrize("fence", [0, 1])
def test_the_machine_would_notice(valkey_client: Client, fence: int) -> None:
    machine = Alike()
    machine.client = valkey_client  # type: ignore[misc]
    machine.start()
    machine.stores[fence].queue.add([run()])
    with pytest.raises(AssertionError):
        machine.both_look_alike()
