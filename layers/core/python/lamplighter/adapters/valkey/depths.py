"""How much waits, and where: for the loop, for metrics, for scaling."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final
from urllib.parse import unquote

from lamplighter.adapters.valkey.client import Client
from lamplighter.adapters.valkey.scripts import script
from lamplighter.domain.ids import epoch_ms, instant_of
from lamplighter.domain.policy import JobClass
from lamplighter.ports.queue import Counts, Depth

_TENANTS_AT_ONCE: Final = 250  # with up to three queues each: about a millisecond


class ValkeyDepths:
    _client: Client

    def next_due(self) -> datetime | None:
        head = self._client.ask("ZRANGE", self._client.key("waiting"), 0, 0, "WITHSCORES")
        return instant_of(int(head[1])) if head else None

    def depth(self, now: datetime) -> list[Depth]:
        found = [
            Depth(unquote(pool), job_class, unquote(tenant), runs)
            for pool in sorted(self._pools())
            for job_class in JobClass
            for tenant, runs in self._in_line(pool, job_class, epoch_ms(now))
        ]
        return sorted(found, key=lambda each: -each.runs)

    def _pools(self) -> list[str]:
        return [pool.decode() for pool in self._client.ask("SMEMBERS", self._client.key("pools"))]

    def _in_line(self, pool: str, job_class: JobClass, now_ms: int) -> Iterator[tuple[str, int]]:
        """In pages: however many tenants there are, nobody else waits for this to end."""
        offset = 0
        while True:
            arguments = [job_class.value, pool, now_ms, offset, _TENANTS_AT_ONCE]
            page = self._client.run(script("depth"), arguments)
            yield from (
                (tenant.decode(), runs) for tenant, runs in zip(*[iter(page)] * 2, strict=True)
            )
            offset += _TENANTS_AT_ONCE
            if len(page) < 2 * _TENANTS_AT_ONCE:
                return

    def counts(self) -> Counts:
        return Counts(
            runs=self._client.ask("HLEN", self._client.key("runs")),
            in_flight=self._client.ask("SCARD", self._client.key("in_flight")),
        )
