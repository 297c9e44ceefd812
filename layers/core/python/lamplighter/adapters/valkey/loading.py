"""Into the queue, and out of it again."""

from collections.abc import Collection, Sequence
from datetime import datetime
from uuid import UUID

from lamplighter.adapters.valkey.client import CHUNK, LANES, Argument, Client
from lamplighter.adapters.valkey.codec import chunks, pack_waiting
from lamplighter.adapters.valkey.scripts import script
from lamplighter.domain.ids import epoch_ms, instant_of
from lamplighter.domain.run import Due


class ValkeyLoading:
    _client: Client

    def begin(self, epoch: int, loaded_to: datetime, watermark: datetime) -> datetime:
        asked: list[Argument] = [epoch, epoch_ms(loaded_to), epoch_ms(watermark)]
        return instant_of(int(self._client.run(script("begin"), asked)))

    def loaded(self, epoch: int, to: datetime) -> None:
        self._client.run(script("loaded"), [epoch, epoch_ms(to)])

    def add(self, runs: Sequence[Due], *, epoch: int | None = None) -> None:
        # One call after the other, not in a pipeline: a server works a pipeline off in one go.
        for packed in pack_waiting(runs, most_runs=CHUNK, most_bodies=LANES):
            self._client.run(script("add"), ["" if epoch is None else epoch, *packed])

    def remove(self, run_ids: Collection[UUID]) -> int:
        packed = (b"".join(run.bytes for run in chunk) for chunk in chunks(run_ids, CHUNK))
        return sum(self._client.run(script("remove"), [ids]) for ids in packed)

    def holds(self, run_ids: Collection[UUID]) -> set[UUID]:
        held: set[UUID] = set()
        for chunk in chunks(run_ids, CHUNK):
            ids = [run.bytes for run in chunk]
            bodies = self._client.ask("HMGET", self._client.key("runs"), *ids)
            held.update(run for run, body in zip(chunk, bodies, strict=True) if body is not None)
        return held
