"""The leader's sleep: on a channel, so that it costs nothing and ends at once."""

from typing import Any

from lamplighter.adapters.valkey.client import Client, named_errors


class ValkeyWaking:
    """Publish and subscribe, not a list: whoever led before cannot take a wake-up call away.

    The waiting is done by this process, to the millisecond. A blocking command would leave it
    to the server, which looks for expired waits ten times a second.
    """

    _client: Client
    _ears: Any

    def wake(self) -> None:
        self._client.ask("PUBLISH", self._client.key("wake"), b"")

    def sleep(self, seconds: float) -> bool:
        try:
            with named_errors():
                return self._listen(seconds)
        except Exception:
            self._stop_listening()
            raise

    def _listen(self, seconds: float) -> bool:
        if self._ears is None:
            self._ears = self._client.store.pubsub()
            self._ears.subscribe(self._client.key("wake"))
        # The subscription's own message counts as a call: what was said before it was not heard.
        if self._ears.get_message(timeout=max(0.0, seconds)) is None:
            return False
        while self._ears.get_message(timeout=0) is not None:
            pass  # so many calls end one sleep, not so many sleeps
        return True

    def _stop_listening(self) -> None:
        ears, self._ears = self._ears, None
        if ears is not None:
            ears.close()
