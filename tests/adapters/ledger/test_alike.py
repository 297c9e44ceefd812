"""The ledgers told apart by nothing: the same random lives, the same answers, the same laws."""

from collections.abc import Callable
from functools import partial
from typing import Any, cast

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from lamplighter.adapters.memory.ledger import MemoryLedger
from tests.adapters.ledger.machine import Alike
from tests.adapters.ledger.stores import Store


def live(machine: Callable[[], Alike], lives: int, steps: int, **more: Any) -> None:
    """The same lives on every run: a red build can be had again."""
    chosen = settings(
        max_examples=lives,
        stateful_step_count=steps,
        derandomize=True,
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
        **more,
    )
    # It asks for a class, and is content with whatever makes a machine.
    run_state_machine_as_test(cast("type[RuleBasedStateMachine]", machine), settings=chosen)


def in_memory() -> Alike:
    return Alike([MemoryLedger()])


def both(store: Store) -> Alike:
    return Alike([MemoryLedger(), store.emptied()])


def test_the_laws_hold_in_memory() -> None:
    live(in_memory, lives=60, steps=50)


def test_memory_and_postgres_are_alike(store: Store) -> None:
    # Shrinking takes thousands of lives, each with a database: minutes in which nobody knows more.
    live(partial(both, store), lives=25, steps=30, phases=[Phase.generate])
