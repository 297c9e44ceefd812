"""Submissions that arrive together are written together, and answered apart."""

import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta

import pytest

from lamplighter.adapters.memory.ledger import MemoryLedger
from lamplighter.domain.errors import InvalidJob, LedgerUnavailable
from lamplighter.domain.run import Accepted, Submission
from lamplighter.stages.defer import in_time
from lamplighter.stages.gather import Gathering
from lamplighter.stages.reach import Reach
from tests.adapters.ledger.builders import one_off
from tests.e2e.stack import until

SECONDS = 10.0


class World:
    """A ledger whose first write takes until it is told to go on: meanwhile the others gather."""

    def __init__(self) -> None:
        self.ledger = MemoryLedger()
        self.written: list[int] = []
        self.gathering = Gathering(self._submit)
        self._begun, self._go_on = threading.Event(), threading.Event()
        self._threads = ThreadPoolExecutor(16)
        self.first = self.ask(self.job())
        assert self._begun.wait(SECONDS)

    def job(self, **fields: object) -> Submission:
        return one_off(self.ledger.now() + timedelta(hours=1), **fields)  # type: ignore[arg-type]

    def ask(self, *submissions: Submission) -> Future[Accepted]:
        return self._threads.submit(self.gathering, submissions)

    def gather(self, *requests: Sequence[Submission]) -> list[Future[Accepted]]:
        """Several requests, all of which wait before the first write ends."""
        asked = [self.ask(*request) for request in requests]
        until(lambda: len(self.gathering._waiting) == len(requests) or None, "all wait")
        self._go_on.set()
        self.first.result(SECONDS)
        return asked

    def _submit(self, submissions: Sequence[Submission]) -> Accepted:
        self.written.append(len(submissions))
        if not self._begun.is_set():
            self._begun.set()
            assert self._go_on.wait(SECONDS)
        return self.refuse(submissions) or self.ledger.submit(submissions)

    def refuse(self, submissions: Sequence[Submission]) -> Accepted | None:
        if any(each.job.name == "wrong" for each in submissions):
            raise InvalidJob("name", "wrong")
        if any(each.job.name == "away" for each in submissions):
            raise LedgerUnavailable("away")
        return None


@pytest.fixture
def world() -> World:
    return World()


def test_those_that_wait_are_written_at_once_and_each_gets_its_own(world: World) -> None:
    requests = [[world.job()], [world.job(), world.job()], [world.job()]]
    answers = [each.result(SECONDS) for each in world.gather(*requests)]

    assert world.written == [1, 4]
    for request, answer in zip(requests, answers, strict=True):
        assert answer.created == {each.job.job_id for each in request}
        assert len(answer.runs) == len(request)
        assert [run.job.job_id for run in answer.first] == [each.job.job_id for each in request]
    runs = [due.run_id for answer in answers for due in answer.runs]
    assert len(set(runs)) == 4


def test_one_that_is_wrong_spoils_nothing_for_the_others(world: World) -> None:
    good, bad, fine = world.gather([world.job()], [world.job(name="wrong")], [world.job()])

    with pytest.raises(InvalidJob):
        bad.result(SECONDS)
    assert len(good.result(SECONDS).created) == len(fine.result(SECONDS).created) == 1


def test_all_hear_that_the_ledger_is_away_and_nobody_asks_again(world: World) -> None:
    asked = world.gather([world.job()], [world.job(name="away")])

    for each in asked:
        with pytest.raises(LedgerUnavailable):
            each.result(SECONDS)
    assert world.written == [1, 2]


def test_a_ledger_that_hangs_keeps_nobody_who_has_gathered() -> None:
    hung, asked = threading.Event(), []

    def hang(submissions: Sequence[Submission]) -> Accepted:
        asked.append(len(submissions))
        assert hung.wait(SECONDS)
        raise AssertionError("nobody waits for this any more")

    submit = Gathering(in_time(Reach(seconds=0.3, rest=SECONDS), hang))
    job = one_off(MemoryLedger().now() + timedelta(hours=1))
    with ThreadPoolExecutor(8) as threads:
        waiting = [threads.submit(submit, [job]) for _ in range(8)]
        for each in waiting:
            with pytest.raises(LedgerUnavailable):
                each.result(SECONDS)
    hung.set()

    assert len(asked) == 1


def test_after_a_failure_the_next_one_is_written(world: World) -> None:
    [bad] = world.gather([world.job(name="wrong")])
    with pytest.raises(InvalidJob):
        bad.result(SECONDS)

    assert len(world.ask(world.job()).result(SECONDS).created) == 1


@pytest.mark.parametrize("alone", ["large", "sent under a key"])
def test_what_has_more_to_be_compared_or_is_large_waits_for_nobody(
    world: World, alone: str
) -> None:
    count = 101 if alone == "large" else 1
    key = None if alone == "large" else b"a body"
    request = [world.job(fingerprint=key) for _ in range(count)]

    assert len(world.ask(*request).result(SECONDS).created) == count  # the first is still writing
    world.gather()
