"""The ledger's rest on Valkey: one key, `rest`, that is missing wherever it could be wrong."""

from datetime import datetime, timedelta
from typing import Final

from lamplighter.adapters.valkey.client import Argument, Client
from lamplighter.adapters.valkey.scripts import script
from lamplighter.domain.ids import epoch_ms, instant_of

# Of a look that never came to an end.
_MARK_TTL: Final = timedelta(minutes=5)


class ValkeyRest:
    def __init__(self, client: Client) -> None:
        self._client = client
        self._key = client.key("rest")

    def until(self) -> datetime | None:
        known: bytes | None = self._client.ask("GET", self._key)
        return instant_of(int(known)) if known is not None and known.isdigit() else None

    def consider(self, mark: str) -> None:
        self._client.ask("SET", self._key, _word(mark), "EX", int(_MARK_TTL.total_seconds()))

    def begin(self, mark: str, until: datetime) -> bool:
        asked: list[Argument] = [_word(mark), epoch_ms(until)]
        return bool(self._client.run(script("begin_rest"), asked, [self._key]))

    def end(self) -> None:
        self._client.ask_many([("DEL", self._key), ("PUBLISH", self._client.key("wake"), b"")])


def _word(mark: str) -> str:
    """Never to be taken for an instant."""
    return f"mark {mark}"
