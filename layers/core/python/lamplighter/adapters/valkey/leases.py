"""Leases on Valkey: the contract of the ledger's, less what only a ledger can promise.

A store that is emptied forgets who holds what, and its epochs begin again. So these decide who may
try, and never what is true: whoever writes is fenced by the ledger's own epoch.
"""

from datetime import timedelta
from typing import Any

from lamplighter.adapters.valkey.client import Client
from lamplighter.adapters.valkey.scripts import script
from lamplighter.domain.errors import LeaseLost
from lamplighter.domain.ids import instant_of
from lamplighter.ports.ledger import Lease


class ValkeyLeases:
    """By the store's clock."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def lease(self, name: str) -> Lease | None:
        fields = ("holder", "epoch", "expires_at")
        holder, epoch, expires_at = self._client.ask("HMGET", self._key(name), *fields)
        if holder is None:
            return None
        return Lease(name, holder.decode(), int(epoch), instant_of(int(expires_at)))

    def acquire_lease(self, name: str, holder: str, ttl: timedelta) -> Lease | None:
        return _lease(name, holder, self._run("acquire_lease", name, holder, _ms(ttl)))

    def renew_lease(self, lease: Lease, ttl: timedelta) -> Lease:
        answer = self._run("renew_lease", lease.name, lease.holder, lease.epoch, _ms(ttl))
        renewed = _lease(lease.name, lease.holder, answer)
        if renewed is None:
            raise LeaseLost(f"lease {lease.name!r} is no longer {lease.holder!r}'s")
        return renewed

    def release_lease(self, lease: Lease) -> None:
        self._run("release_lease", lease.name, lease.holder, lease.epoch)

    def _run(self, what: str, name: str, *arguments: str | int) -> Any:
        return self._client.run(script(what), arguments, [self._key(name)])

    def _key(self, name: str) -> str:
        return self._client.key(f"lease:{name}")


def _lease(name: str, holder: str, answer: list[int] | None) -> Lease | None:
    return None if answer is None else Lease(name, holder, answer[0], instant_of(answer[1]))


def _ms(ttl: timedelta) -> int:
    return round(ttl.total_seconds() * 1000)
