"""Execute: claim a batch, run it, report it. Never trusts the message: the claim decides."""

import logging
import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from lamplighter.contracts.messages import RunMessage
from lamplighter.domain.errors import LedgerUnavailable
from lamplighter.stages.run import Runner
from lamplighter.stages.work import Begun, Work

_log: Final = logging.getLogger("lamplighter.execute")
# While all places are taken, some other batch of this process may free one at any moment.
_LOOK_SECONDS: Final = 0.02
_MOST_AT_ONCE: Final = 5_000


class Executed(msgspec.Struct):
    """What a batch came to. `left` was never claimed: deliver it again."""

    claimed: int = 0
    refused: dict[str, int] = {}
    left: list[RunMessage] = []


class Executor:
    """Many batches at once, if need be: each call has its own work, and all share the places."""

    def __init__(
        self,
        runner: Runner,
        work: Callable[[], Work],
        *,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._runner = runner
        self._work = work
        self._steady = steady
        self._appetite = Appetite()

    def execute(self, messages: Sequence[RunMessage], seconds: float = math.inf) -> Executed:
        """Returns when all of it has ended; what found no place in `seconds` is left.

        So is what comes to a worker that is past saving.
        """
        work = self._work()
        result = Executed()
        refused: Counter[str] = Counter()
        rest = list(messages)
        end = self._steady() + seconds
        while rest or work.open:
            if rest and (self._steady() > end or self._runner.exhausted):
                result.left, rest = rest, []
            elif rest and (room := self._appetite.room(self._runner.free)):
                chunk, rest = rest[:room], rest[room:]
                try:
                    begun = work.begin(chunk)
                except LedgerUnavailable as away:
                    _log.warning("%d runs not claimed: %s", len(chunk) + len(rest), away)
                    result.left, rest = chunk + rest, []
                    continue
                self._appetite.learn(begun, len(chunk))
                result.claimed += begun.claimed
                refused.update(why.value for why in begun.refused.values())
            else:
                work.report(_LOOK_SECONDS if rest else None)
        result.refused = dict(refused)
        return result


class Appetite:
    """How many to claim at once: what can start now, and more while all of it is quick.

    A claimed run that waits for a place would be late on our account, and others might have had
    one. A quick run needs no place; which ones are quick is known only after the claim.
    """

    def __init__(self) -> None:
        self._beyond = 0

    def room(self, free: int) -> int:
        return max(free, self._beyond) if free else 0

    def learn(self, begun: Begun, asked: int) -> None:
        quick = begun.placed == 0
        self._beyond = min(_MOST_AT_ONCE, max(self._beyond, 2 * asked)) if quick else 0
