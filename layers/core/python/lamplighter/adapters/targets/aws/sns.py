"""Publishes the payload to a topic."""

from typing import Any

from lamplighter.adapters.targets.aws.calls import PATIENCE, as_json, attributes, explained
from lamplighter.adapters.targets.aws.clients import Clients
from lamplighter.domain.run import Claimed
from lamplighter.domain.target import SnsSpec
from lamplighter.ports.target import Context, TargetResult


class SnsTarget:
    def __init__(self, clients: Clients) -> None:
        self._clients = clients

    def run(self, spec: SnsSpec, context: Context) -> TargetResult:
        run = context.run
        with explained("sns"):
            sent = self._clients.get("sns", spec.region).publish(
                TopicArn=spec.topic_arn,
                Message=as_json(run.payload),
                MessageAttributes=attributes(run, spec.attributes),
                **_options(spec, run),
            )
        return TargetResult({"message_id": sent["MessageId"]})

    def is_quick(self, _spec: SnsSpec) -> bool:
        return False

    def patience(self, _spec: SnsSpec) -> float:
        return PATIENCE


def _options(spec: SnsSpec, run: Claimed) -> dict[str, Any]:
    options: dict[str, Any] = {} if spec.subject is None else {"Subject": spec.subject}
    if spec.topic_arn.endswith(".fifo"):
        options["MessageGroupId"] = spec.message_group_id or str(run.job_id)
        options["MessageDeduplicationId"] = str(run.run_id)
    elif spec.message_group_id:
        options["MessageGroupId"] = spec.message_group_id
    return options
