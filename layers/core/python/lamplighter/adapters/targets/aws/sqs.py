"""Sends the payload as a message to a queue."""

from typing import Any

from lamplighter.adapters.targets.aws.calls import PATIENCE, as_json, attributes, explained
from lamplighter.adapters.targets.aws.clients import Clients
from lamplighter.domain.run import Claimed
from lamplighter.domain.target import SqsSpec
from lamplighter.ports.target import Context, TargetResult


class SqsTarget:
    def __init__(self, clients: Clients) -> None:
        self._clients = clients

    def run(self, spec: SqsSpec, context: Context) -> TargetResult:
        run = context.run
        with explained("sqs"):
            sent = self._clients.get("sqs", spec.region).send_message(
                QueueUrl=spec.queue_url,
                MessageBody=as_json(run.payload),
                MessageAttributes=attributes(run, spec.attributes),
                **_fifo(spec, run),
            )
        return TargetResult({"message_id": sent["MessageId"]})

    def is_quick(self, _spec: SqsSpec) -> bool:
        return False

    def patience(self, _spec: SqsSpec) -> float:
        return PATIENCE


def _fifo(spec: SqsSpec, run: Claimed) -> dict[str, Any]:
    """A FIFO queue drops the second message of a run that was sent twice within five minutes."""
    if spec.queue_url.endswith(".fifo"):
        group = spec.message_group_id or str(run.job_id)
        return {"MessageGroupId": group, "MessageDeduplicationId": str(run.run_id)}
    return {"MessageGroupId": spec.message_group_id} if spec.message_group_id else {}
