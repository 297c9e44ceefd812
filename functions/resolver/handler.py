"""Resolver: frees what waited for a run that has ended. The last on a job's way."""

from typing import Any

from lamplighter import wiring
from lamplighter.contracts.batch import read_batch
from lamplighter.contracts.dead_letters import dead_letter
from lamplighter.contracts.messages import read_dependency
from lamplighter.contracts.msk import read_each
from lamplighter.domain.errors import LedgerUnavailable
from lamplighter.stages.resolve import resolve


@wiring.invoked
@wiring.spared
def handler(event: dict[str, Any], context: object) -> dict[str, Any]:  # noqa: ARG001 - Lambda's
    """A batch of endings in; without the ledger, all of it out, to be delivered again."""
    batch = read_batch(event)
    read = read_each(batch.records, read_dependency)
    wiring.bury([dead_letter(record, why, "resolver") for record, why in read.unreadable])
    try:
        endings = [ending for _, ending in read.good]
        resolve(wiring.ledger(), wiring.queue(), endings, wiring.bus(), tracer=wiring.tracer())
    except LedgerUnavailable:
        return wiring.answer(batch, batch.records)
    return wiring.answer(batch, [])
