"""What a function that reads a topic is called with, by Kafka's mapping or by that of SQS."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from lamplighter.contracts import msk, sqs
from lamplighter.contracts.sqs import Receipt
from lamplighter.ports.bus import Record


class Batch(msgspec.Struct, frozen=True):
    """Its records; and where SQS sent them, the receipt of each, by the record's offset."""

    records: list[Record]
    receipts: list[Receipt] = []

    def receipts_of(self, failed: Iterable[Record]) -> list[Receipt]:
        return [self.receipts[each.offset] for each in failed] if self.receipts else []

    def answer(self, failed: Iterable[Record]) -> dict[str, Any]:
        """What the mapping understands: these failed, all others are done."""
        if not self.receipts:
            return msk.answer(failed)
        ids = [receipt.message_id for receipt in self.receipts_of(failed)]
        return {"batchItemFailures": [{"itemIdentifier": each} for each in ids]}


def read_batch(event: Mapping[str, Any]) -> Batch:
    """Raises msgspec.ValidationError for what neither mapping sends."""
    if sqs.is_sqs_event(event):
        return Batch(*sqs.decode_event(event))
    return Batch(msk.decode_event(event))
