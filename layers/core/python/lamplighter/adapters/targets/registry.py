"""The one place that knows every type of target."""

from collections.abc import Collection, Mapping
from typing import Any, Final

from lamplighter.adapters.targets.aws.clients import Clients
from lamplighter.adapters.targets.aws.ecs import EcsTarget
from lamplighter.adapters.targets.aws.eventbridge import EventBridgeTarget
from lamplighter.adapters.targets.aws.lambda_function import LambdaTarget
from lamplighter.adapters.targets.aws.ours import NotOurs
from lamplighter.adapters.targets.aws.sns import SnsTarget
from lamplighter.adapters.targets.aws.sqs import SqsTarget
from lamplighter.adapters.targets.aws.stepfunctions import StepFunctionsTarget
from lamplighter.adapters.targets.command.target import CommandTarget
from lamplighter.adapters.targets.http.sending import DirectSender
from lamplighter.adapters.targets.http.target import HttpTarget
from lamplighter.adapters.targets.python.handlers import Handlers
from lamplighter.adapters.targets.python.target import PythonTarget
from lamplighter.domain.errors import InvalidJob
from lamplighter.domain.run import Claimed
from lamplighter.domain.target import SPECS, PythonSpec, TargetSpec, parse_target
from lamplighter.ports.secrets import Held
from lamplighter.ports.target import Found, Sender, Target

ECHO: Final = {"type": "python", "handler": "builtin.echo"}


class Registry:
    """Which target runs a document. A worker may lack some: no shell in a Lambda function."""

    def __init__(
        self, targets: Mapping[str, Target[Any]], default: Mapping[str, Any] | None = None
    ) -> None:
        self._targets = {SPECS[name]: target for name, target in targets.items()}
        self._default = dict(default) if default else None
        self._quick: dict[str, Found] = {}

    def find(self, run: Claimed) -> Found:
        document = self._default if run.target is None else run.target
        return self._known(document) or self._learn(document, run.pool)

    def _known(self, document: dict[str, Any] | None) -> Found | None:
        """A herd of quick handlers is found by name; the others are worth a closer look."""
        if document is not None and len(document) == 2 and document.get("type") == "python":
            name = document.get("handler")
            return self._quick.get(name) if isinstance(name, str) else None
        return None

    def _learn(self, document: dict[str, Any] | None, pool: str) -> Found:
        spec = parse_target(document)
        target = self._targets.get(type(spec))
        if target is None:
            raise InvalidJob("target.type", self._cannot(spec, pool))
        found = Found(spec, target, target.is_quick(spec))
        if found.quick and isinstance(spec, PythonSpec):
            self._quick[spec.handler] = found
        return found

    def _cannot(self, spec: TargetSpec, pool: str) -> str:
        able = sorted(name for name, kind in SPECS.items() if kind in self._targets)
        name = next(name for name, kind in SPECS.items() if kind is type(spec))
        return f"pool {pool} runs no {name} targets, only {', '.join(able)}; name another pool"


def all_targets(
    *,
    handlers: Handlers | None = None,
    clients: Clients | None = None,
    sender: Sender | None = None,
    signing_secret: Held | None = None,
    ours: Collection[str] = (),
) -> dict[str, Target[Any]]:
    """Every type, as a worker that may start processes has them.

    `ours`: queues, topics and functions, by name, that the worker may use and jobs may not; and
    subnets, by id, that the worker may be in and tasks of jobs may not.
    """
    clients = clients or Clients()
    return {
        "python": PythonTarget(handlers or Handlers()),
        "command": CommandTarget(),
        "http": HttpTarget(sender or DirectSender(), signing_secret),
        "lambda": NotOurs(LambdaTarget(clients), ours),
        "sqs": NotOurs(SqsTarget(clients), ours),
        "sns": NotOurs(SnsTarget(clients), ours),
        "eventbridge": EventBridgeTarget(clients),
        "stepfunctions": StepFunctionsTarget(clients),
        "ecs": EcsTarget(clients, ours=ours),
    }
