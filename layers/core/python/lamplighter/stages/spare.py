"""Spare: a message that breaks its function must not take the others of its batch along.

Kafka's mapping halves a batch that fails until the culprit is alone. SQS's brings the whole of it
again, with the same neighbours as like as not, until all of them count as dead. So for SQS the
halving is done here. Trouble of ours that passes, such as a bus that is away, is nobody's fault in
the batch, and halving would only multiply the waiting.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from lamplighter.contracts.batch import Batch, read_batch
from lamplighter.contracts.dead_letters import dead_letter
from lamplighter.contracts.sqs import is_sqs_event
from lamplighter.domain.errors import LamplighterError
from lamplighter.ports.bus import Message, Record

_log: Final = logging.getLogger("lamplighter.spare")
# How often a message that breaks its function alone is tried, since it may have been the moment.
TRIES: Final = 3

Handler = Callable[[dict[str, Any], Any], dict[str, Any]]


class Spare:
    """Around the handler of `function`, for as long as it works: nothing."""

    def __init__(
        self,
        function: str,
        handler: Handler,
        *,
        bury: Callable[[Sequence[Message]], None],
        answer: Callable[[Batch, Iterable[Record]], dict[str, Any]],
    ) -> None:
        self._function = function
        self._handler = handler
        self._bury = bury
        self._answer = answer

    def __call__(self, event: dict[str, Any], context: Any) -> dict[str, Any]:
        try:
            return self._handler(event, context)
        except LamplighterError:
            raise
        except Exception as problem:
            if not is_sqs_event(event):
                raise
            _log.exception("%s broke over %d messages", self._function, len(event["Records"]))
            return self._apart(event, context, problem)

    def _apart(self, event: dict[str, Any], context: Any, problem: Exception) -> dict[str, Any]:
        messages = event["Records"]
        if len(messages) < 2:
            return self._alone(read_batch(event), problem)
        middle = len(messages) // 2
        failures: list[Any] = []
        for half in (messages[:middle], messages[middle:]):
            failures += self({"Records": half}, context)["batchItemFailures"]
        return {"batchItemFailures": failures}

    def _alone(self, batch: Batch, problem: Exception) -> dict[str, Any]:
        if any(receipt.receives < TRIES for receipt in batch.receipts):
            return self._answer(batch, batch.records)
        why = f"{type(problem).__name__}: {problem}"
        self._bury([dead_letter(each, why, self._function) for each in batch.records])
        return self._answer(batch, [])
