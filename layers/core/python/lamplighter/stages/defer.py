"""Defer: accept without the ledger, and leave it on the bus for the recorder to write down."""

import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from lamplighter.contracts.requests import request_messages
from lamplighter.domain.errors import LedgerUnavailable
from lamplighter.domain.run import Accepted, Submission
from lamplighter.ports.bus import BusUnavailable, Message, UnknownTopic
from lamplighter.ports.ledger import Ledger
from lamplighter.stages.gather import Submit
from lamplighter.stages.reach import Reach

_log = logging.getLogger("lamplighter.defer")
# Ten thousand jobs are written in a second where the disk is good, and in several where it is not.
_SECONDS_PER_JOB: Final = 0.001


def in_time(reach: Reach, submit: Submit) -> Submit:
    """Nobody waits for it longer than a person would, and a while more for many jobs."""

    def ask(submissions: Sequence[Submission]) -> Accepted:
        more_seconds = _SECONDS_PER_JOB * len(submissions)
        return reach(lambda: submit(submissions), more_seconds=more_seconds)

    return ask


class Deferral:
    """`publish` returns when the bus has the messages for good: fsynced, or on all replicas."""

    def __init__(
        self,
        publish: Callable[[Sequence[Message]], None],
        reach: Reach,
        *,
        submit: Submit | None = None,
        deferred: Callable[[int], None] = lambda _: None,
    ) -> None:
        """`submit` is how the ledger is asked, in time; `deferred` is told how many jobs were."""
        self._publish = publish
        self._reach = reach
        self._submit = submit
        self._deferred = deferred

    def submit(
        self, ledger: Ledger, submissions: Sequence[Submission], now: datetime
    ) -> Accepted | None:
        """Into the ledger; None where it is away and the bus has them instead.

        Where it only seemed to be away, both have them: the ids are the same, so it is one job.
        """
        submit = self._submit or in_time(self._reach, ledger.submit)
        try:
            return submit(submissions)
        except LedgerUnavailable as away:
            self._put(submissions, now, away)
            return None

    def _put(
        self, submissions: Sequence[Submission], now: datetime, away: LedgerUnavailable
    ) -> None:
        messages = request_messages(submissions, now)
        try:
            self._publish(messages)
        except (BusUnavailable, UnknownTopic) as error:
            raise LedgerUnavailable(f"{away}; and the bus: {error}") from error
        self._deferred(len(submissions))
        _log.warning("accepted %d jobs without the ledger: %s", len(submissions), away)
