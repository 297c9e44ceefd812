"""Executor: runs what is due. After the watcher on a job's way; the recorder comes next."""

import logging
import sys
from typing import Any

from lamplighter import wiring
from lamplighter.contracts.batch import read_batch
from lamplighter.contracts.dead_letters import dead_letter
from lamplighter.contracts.messages import read_run
from lamplighter.contracts.msk import read_each
from lamplighter.telemetry.logs import keys

_log = logging.getLogger("lamplighter.executor")
# Of the time that Lambda gives: a run that starts may take as long as its pool allows.
_MARGIN_SECONDS = 10.0


@wiring.invoked
@wiring.spared
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """A batch of runs in; out those that found no place, to be delivered again."""
    if wiring.runner().exhausted:
        # Lambda replaces a process that has ended, and delivers the batch to the next one.
        sys.exit("too many handlers hang past their deadline; this process makes room for another")
    batch = read_batch(event)
    read = read_each(batch.records, read_run)
    wiring.bury([dead_letter(record, why, "executor") for record, why in read.unreadable])
    by_run = {message.run_id: record for record, message in read.good}
    left = context.get_remaining_time_in_millis() / 1000
    executed = wiring.executor().execute(
        [message for _, message in read.good],
        left - wiring.settings().longest_seconds - _MARGIN_SECONDS,
    )
    told = keys(claimed=executed.claimed, refused=executed.refused, left=len(executed.left))
    _log.info("batch executed", extra=told)
    return wiring.answer(batch, (by_run[message.run_id] for message in executed.left))
