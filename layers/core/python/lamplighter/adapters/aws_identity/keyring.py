"""A keyring inside the network, obeyed by way of the authorizer function, which reaches it."""

from typing import Any

import msgspec
from botocore.exceptions import BotoCoreError, ClientError

from lamplighter.adapters.targets.aws.clients import Clients
from lamplighter.contracts.keyring import Order, event_of, found_in
from lamplighter.domain.api_key import ApiKey
from lamplighter.domain.errors import LamplighterError
from lamplighter.ports.api_keys import KeyNotFound


class KeyringAway(LamplighterError):
    """The function cannot be asked, or failed. Its log says more."""


class RemoteKeyring:
    """Who may invoke the function is IAM's to say."""

    def __init__(self, function: str, clients: Clients) -> None:
        self._function = function
        self._clients = clients

    def obey(self, order: Order) -> list[ApiKey]:
        try:
            answer = self._clients.get("lambda", repeat=False).invoke(
                FunctionName=self._function,
                InvocationType="RequestResponse",
                Payload=event_of(order),
            )
        except (ClientError, BotoCoreError) as problem:
            raise KeyringAway(f"{self._function} cannot be asked: {problem}") from problem
        payload = answer["Payload"].read()
        if "FunctionError" in answer:
            raise _error(msgspec.json.decode(payload))
        return found_in(payload)


def _error(told: dict[str, Any]) -> LamplighterError:
    kind, words = told.get("errorType"), str(told.get("errorMessage"))
    return KeyNotFound(words) if kind == KeyNotFound.__name__ else KeyringAway(f"{kind}: {words}")
