"""The queue on Valkey, put together from its parts."""

from collections.abc import Mapping

from lamplighter.adapters.valkey.client import Client
from lamplighter.adapters.valkey.depths import ValkeyDepths
from lamplighter.adapters.valkey.loading import ValkeyLoading
from lamplighter.adapters.valkey.ticks import ValkeyTicks
from lamplighter.adapters.valkey.waking import ValkeyWaking
from lamplighter.domain.ordering import DEFAULT_SHARES, strides
from lamplighter.domain.policy import JobClass


class ValkeyQueue(ValkeyLoading, ValkeyTicks, ValkeyDepths, ValkeyWaking):
    """Many may add. One thread ticks and sleeps: the leader's."""

    def __init__(self, client: Client, *, shares: Mapping[JobClass, int] = DEFAULT_SHARES) -> None:
        self._client = client
        self._strides = list(strides(shares).values())
        self._lost_an_answer = False
        self._ears = None

    def close(self) -> None:
        """The client is the caller's to close."""
        self._stop_listening()
