"""Out to the bus: what is due, by shares, turns and scores."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime

from lamplighter.adapters.valkey.client import CHUNK, LANES, Argument, Client
from lamplighter.adapters.valkey.codec import (
    chunks,
    member_to_ready,
    pack_ready,
    quoted,
    unpack_ready,
)
from lamplighter.adapters.valkey.scripts import script
from lamplighter.domain.ids import epoch_ms, instant_of
from lamplighter.domain.ordering import Places
from lamplighter.ports.queue import NONE, QueueUnavailable, Ready, Tick


class ValkeyTicks:
    _client: Client
    _strides: Sequence[int]
    _lost_an_answer: bool

    def tick(
        self,
        epoch: int,
        now: datetime,
        free: Mapping[str, int],
        limit: int,
        kept: Mapping[str, int] = NONE,
    ) -> Tick:
        if self._lost_an_answer:
            return self._found_again(epoch, now)
        places = {pool: Places(each, kept.get(pool, 0)) for pool, each in free.items()}
        try:
            return self._tick(epoch, now, places, limit)
        except QueueUnavailable:
            # It may have popped runs before the answer was lost. They are in flight, and the
            # next tick asks for them; without that they would wait for the ledger's second look.
            self._lost_an_answer = True
            raise

    def _tick(self, epoch: int, now: datetime, places: dict[str, Places], limit: int) -> Tick:
        """In chunks, each of them one script, until nothing is left or the limit is reached."""
        runs: list[Ready] = []
        while True:
            chunk = min(CHUNK, limit - len(runs))
            ticked = self._tick_chunk(epoch, now, places, chunk)
            runs += ticked.runs
            # A chunk without runs has let others join the line. The caller decides to go on.
            if not ticked.more or not ticked.runs or len(runs) >= limit:
                return Tick(runs, ticked.more, ticked.backlog, ticked.next_due)
            for pool, taken in Counter(run.pool for run in ticked.runs).items():
                places[pool] = places[pool].less(taken)

    def _tick_chunk(
        self, epoch: int, now: datetime, places: Mapping[str, Places], chunk: int
    ) -> Tick:
        pools: list[Argument] = []
        for pool, left in places.items():
            pools += [quoted(pool), max(0, left.free), left.kept]
        arguments = [epoch, epoch_ms(now), CHUNK, LANES, chunk, *self._strides, *pools]
        is_cut, is_short, due, bodies, packed = self._client.run_once(script("tick"), arguments)
        next_due = None if due is None else instant_of(int(due))
        return Tick(unpack_ready(bodies, packed), bool(is_cut), bool(is_short), next_due)

    def _found_again(self, epoch: int, now: datetime) -> Tick:
        runs = self.take_over(epoch)
        self._lost_an_answer = False
        return Tick(runs, more=True, backlog=True, next_due=now)

    def keep_paces(self, paces: Mapping[str, float]) -> None:
        said = [part for pool, pace in paces.items() for part in (pool, pace)]
        if said:
            self._client.ask("HSET", self._client.key("paces"), *said)

    def paces(self) -> dict[str, float]:
        said = self._client.ask("HGETALL", self._client.key("paces"))
        return {pool.decode(): float(pace) for pool, pace in said.items()}

    def published(self, epoch: int, runs: Sequence[Ready]) -> None:
        for chunk in chunks(runs, CHUNK):
            self._client.run(script("published"), [epoch, *pack_ready(chunk)])

    def take_over(self, epoch: int) -> list[Ready]:
        members: set[bytes] = set()  # a page may repeat what an earlier one had
        cursor = b"0"
        while True:
            arguments: list[Argument] = [epoch, cursor, CHUNK]
            cursor, page = self._client.run(script("take_over"), arguments)
            members.update(page)
            if cursor == b"0":
                return [member_to_ready(member) for member in sorted(members)]
