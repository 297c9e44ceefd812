"""As small as a peer can be: jobs wait in a sorted set, and one worker asks what is due."""

import itertools
import os
import time
from collections.abc import Sequence
from typing import Any

from valkey import Valkey

from benchmarks.peers.protocol import Program, main, mark

WAITING = "waiting"


class FakePeer(Program):
    def prepare(self) -> None:
        self._store().set("prepared", 1)

    def enqueue(self, times: Sequence[float]) -> None:
        names = (f"{os.getpid()}:{n}" for n in itertools.count())
        self._store().zadd(WAITING, dict(zip(names, times, strict=False)))

    def submit(self, seconds: float, size: int) -> float:
        return seconds * size

    def work(self) -> None:
        if "FAKE_PEER_FAILS" in os.environ:
            raise SystemExit("no such option")
        store = self._store()
        while True:
            found: Any = store.zrangebyscore(WAITING, 0, time.time(), withscores=True)
            for name, due in found:
                mark(due)
                store.zrem(WAITING, name)
            time.sleep(0.001)

    def _store(self) -> Valkey:
        return Valkey.from_url(self.url.replace("redis:", "valkey:"))


if __name__ == "__main__":
    main(FakePeer())
