"""What carries messages, and what becomes of those that nobody can handle."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from lamplighter.contracts.batch import Batch
from lamplighter.contracts.topics import all_topics
from lamplighter.fail_points import FailPoint, fail_point
from lamplighter.ports.bus import Bus, Message, Record
from lamplighter.settings import Bus as BusKind
from lamplighter.telemetry.metrics import DEAD_LETTERS
from lamplighter.wiring.around import clients, region, required, settings, telemetry
from lamplighter.wiring.once import once

if TYPE_CHECKING:
    from lamplighter.adapters.kafka.config import TokenProvider
    from lamplighter.adapters.sqs.bus import SqsBus


@once
def bus() -> Bus:
    given = settings()
    if given.bus is BusKind.KAFKA:
        from lamplighter.adapters.kafka.bus import KafkaBus
        from lamplighter.adapters.kafka.config import KafkaAccess

        servers = required("LAMPLIGHTER_KAFKA_BOOTSTRAP_SERVERS", given.kafka_bootstrap_servers)
        return KafkaBus(KafkaAccess(servers, _tokens() if given.kafka_iam else None))
    if given.bus is BusKind.SQS:
        return _sqs()
    from lamplighter.adapters.streams.bus import StreamsBus

    url = required("LAMPLIGHTER_VALKEY_URL", given.valkey_url)
    return StreamsBus(url, topics=all_topics(given.windows()))


@once
def _sqs() -> "SqsBus":
    from lamplighter.adapters.sqs.bus import SqsBus

    return SqsBus(clients(), prefix=settings().sqs_prefix)


def answer(batch: Batch, failed: Iterable[Record]) -> dict[str, Any]:
    """What a mapping is told of a batch; SQS lets what failed come again soon if asked to."""
    again = list(failed)
    receipts = batch.receipts_of(again)
    if receipts and settings().bus is BusKind.SQS:
        _sqs().give_back(receipts)
    return batch.answer(again)


def _tokens() -> "TokenProvider":
    from lamplighter.adapters.aws_identity.msk import MskTokens

    return MskTokens(region())


def bury(letters: Sequence[Message]) -> None:
    """Dead letters: to their topic, and counted."""
    if letters:
        bus().publish(letters)
        fail_point(FailPoint.BURY_PUBLISHED)
        count_buried(len(letters))


def count_buried(letters: int) -> None:
    telemetry().count(DEAD_LETTERS, letters)
