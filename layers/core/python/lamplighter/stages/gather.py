"""Gather: submissions that arrive at the same time are written in one transaction.

A commit costs what the disk costs, however little is in it. While one is on its way, others wait;
the first of them then writes for all. One request at a time, as in a Lambda function, never waits.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Final
from uuid import UUID

from lamplighter.domain.errors import LedgerUnavailable
from lamplighter.domain.run import Accepted, Due, Submission, new_runs

# More than that gains nothing from company, and would keep it waiting.
_FEW: Final = 100

Submit = Callable[[Sequence[Submission]], Accepted]


class Gathering:
    def __init__(self, submit: Submit) -> None:
        self._submit = submit
        self._lock = threading.Lock()
        self._is_writing = False
        self._waiting: list[_Request] = []

    def __call__(self, submissions: Sequence[Submission]) -> Accepted:
        """As the ledger does; what is wrong with one request is no other's concern.

        One that may have been sent before has more to be compared, and goes alone.
        """
        if len(submissions) > _FEW or any(each.fingerprint for each in submissions):
            return self._submit(submissions)
        mine = _Request(submissions)
        with self._lock:
            self._waiting.append(mine)
            is_first, self._is_writing = not self._is_writing, True
        if not is_first:
            mine.turn.wait()
        if mine.answer is None:
            self._write_all()
        return mine.accepted()

    def _write_all(self) -> None:
        """Everybody's who waits by now, the caller's among them; then it is the next one's turn."""
        with self._lock:
            together, self._waiting = self._waiting, []
        self._write(together)
        with self._lock:
            self._is_writing = bool(self._waiting)
            following = self._waiting[:1]
        for request in [*following, *together]:
            request.turn.set()

    def _write(self, together: "Sequence[_Request]") -> None:
        try:
            accepted = self._submit([each for one in together for each in one.submissions])
        except BaseException as problem:  # noqa: BLE001 - raised where it was asked for
            is_shared = len(together) == 1 or isinstance(problem, LedgerUnavailable)
            for request in together:
                request.answer = problem if is_shared else self._alone(request)
        else:
            by_id = {due.run_id: due for due in accepted.runs}
            for request in together:
                request.take(accepted.created, by_id)

    def _alone(self, request: "_Request") -> Accepted | BaseException:
        """Somebody made a mistake: each finds out whether it is its own."""
        try:
            return self._submit(request.submissions)
        except BaseException as problem:  # noqa: BLE001 - as above
            return problem


class _Request:
    """`turn`: it has been answered, or is to write for all that wait."""

    __slots__ = ("answer", "submissions", "turn")

    def __init__(self, submissions: Sequence[Submission]) -> None:
        self.submissions = submissions
        self.answer: Accepted | BaseException | None = None
        self.turn = threading.Event()

    def take(self, created: frozenset[UUID], by_id: Mapping[UUID, Due]) -> None:
        """Its own part of an answer to many."""
        jobs = [each.job.job_id for each in self.submissions]
        runs = [
            run
            for each in self.submissions
            if each.first_fire is not None
            for run in new_runs(each.job, each.first_fire)
            if run.run_id in by_id
        ]
        self.answer = Accepted(
            frozenset(job for job in jobs if job in created),
            [by_id[run.run_id] for run in runs],
            [run for run in runs if run.job.job_id in created],
        )

    def accepted(self) -> Accepted:
        if isinstance(self.answer, Accepted):
            return self.answer
        raise self.answer or AssertionError("nobody wrote it")
