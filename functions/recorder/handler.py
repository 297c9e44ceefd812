"""Recorder: writes down what workers report. After the executor; the resolver comes next."""

from typing import Any

from lamplighter import wiring
from lamplighter.contracts.batch import read_batch
from lamplighter.contracts.dead_letters import dead_letter
from lamplighter.contracts.topics import JOB_REQUESTS
from lamplighter.domain.errors import LedgerUnavailable
from lamplighter.ports.bus import Record
from lamplighter.stages.requests import persist


@wiring.invoked
@wiring.spared
def handler(event: dict[str, Any], context: object) -> dict[str, Any]:  # noqa: ARG001 - Lambda's
    """A batch of events in; without the ledger, all of it out, to be delivered again."""
    batch = read_batch(event)
    asked = [each for each in batch.records if each.topic == JOB_REQUESTS.name]
    told = [each for each in batch.records if each.topic != JOB_REQUESTS.name]
    failed = wiring.recorder().handle(told) if told else []
    return wiring.answer(batch, failed + _persist(asked) if asked else failed)


def _persist(records: list[Record]) -> list[Record]:
    """What was accepted while the ledger was away; all of it again, while that is still so."""
    try:
        refused = persist(wiring.desk(), records).refused
    except LedgerUnavailable:
        return records
    wiring.bury([dead_letter(each.record, each.why, "recorder") for each in refused])
    return []
