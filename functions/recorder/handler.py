"""Recorder: writes down what workers report. After the executor; the resolver comes next."""

from typing import Any

from lamplighter import wiring
from lamplighter.contracts.dead_letters import dead_letter
from lamplighter.contracts.messages import read_job_event
from lamplighter.contracts.msk import answer, decode_event, read_each
from lamplighter.contracts.topics import JOB_EVENTS
from lamplighter.domain.errors import LedgerUnavailable
from lamplighter.stages.record import record


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:  # noqa: ARG001 - Lambda's
    """A batch of events in; without the ledger, all of it out, to be delivered again."""
    records = [each for each in decode_event(event) if each.topic == JOB_EVENTS.name]
    read = read_each(records, read_job_event)
    for each, why in read.unreadable:
        wiring.bus().publish([dead_letter(each, why, "recorder")])
    try:
        record(wiring.ledger(), wiring.bus(), [news for _, news in read.good])
    except LedgerUnavailable:
        return answer(records)
    return answer([])
