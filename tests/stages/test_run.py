"""The run stage over made-up targets: every run ends once, whatever its target does."""

import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest

from lamplighter.domain.errors import InvalidJob
from lamplighter.domain.ids import run_id
from lamplighter.domain.run import Claimed, Outcome, Verdict
from lamplighter.domain.target import PythonSpec
from lamplighter.ports.logs import LogName, LogsUnavailable, LogWriter
from lamplighter.ports.target import Context, Found, TargetFailed, TargetResult
from lamplighter.stages.run import CLASS_SECONDS, Limits, Runner, timeout_of
from lamplighter.stages.run.alarms import Alarms

Act = Callable[[Context], Any]
FIRE = datetime(2026, 11, 16, tzinfo=UTC)
# A moment, also where the machine stands still for a while; what is not stopped takes a minute.
SOON = 20.0


class Acting:
    """A target that does what its run's payload, a function, says. Payloads are its registry."""

    def __init__(self, patience: float = 0.2) -> None:
        self._patience = patience

    def find(self, run: Claimed) -> Found:
        if not callable(run.payload):
            raise InvalidJob("target", "give a function")
        return Found(PythonSpec("acting"), self, quick=getattr(run.payload, "quick", False))

    def run(self, _spec: PythonSpec, context: Context) -> TargetResult:
        return TargetResult(context.run.payload(context))

    def is_quick(self, _spec: PythonSpec) -> bool:
        return False

    def patience(self, _spec: PythonSpec) -> float:
        return self._patience


class BrokenLogs:
    """A log store that is away."""

    def open(self, name: LogName) -> LogWriter:  # noqa: ARG002
        raise LogsUnavailable("the store is away")

    def url(self, name: LogName) -> str:
        return name.key

    def read(self, url: str, offset: int = 0, limit: int = 0) -> bytes:  # noqa: ARG002
        raise LogsUnavailable("the store is away")


class NoSecrets:
    def resolve(self, tenant: str, name: str) -> str:
        return f"{tenant}-{name}-value"


def a_runner(patience: float = 0.2, **limits: Any) -> Runner:
    return Runner(Acting(patience), BrokenLogs(), NoSecrets(), Limits(**limits))


def doing(act: Any, **changed: Any) -> Claimed:
    job = uuid4()
    fields: dict[str, Any] = {
        "run_id": run_id(job, FIRE, "default"), "job_id": job, "tenant": "acme", "pool": "lambda",
        "fence": 3, "attempt": 1, "due_at": FIRE, "name": "n", "priority": 5,
        "timeout_seconds": None, "target": {}, "payload": act,
    }  # fmt: skip
    return Claimed(**(fields | changed))


def all_of(outcomes: Iterator[list[Outcome]]) -> dict[UUID, Outcome]:
    found = [outcome for handful in outcomes for outcome in handful]
    by_id = {outcome.run_id: outcome for outcome in found}
    assert len(by_id) == len(found), "a run ended twice"
    return by_id


def only(runner: Runner, act: Any, **changed: Any) -> Outcome:
    [outcome] = all_of(runner.run_batch([doing(act, **changed)])).values()
    return outcome


def test_an_empty_batch_has_no_outcomes() -> None:
    assert list(a_runner().run_batch([])) == []


def test_an_outcome_carries_its_runs_id_and_fence() -> None:
    run = doing(lambda _: 5)

    [[outcome]] = a_runner().run_batch([run])

    assert (outcome.run_id, outcome.fence) == (run.run_id, 3)
    assert (outcome.verdict, outcome.result, outcome.error) == (Verdict.SUCCESS, 5, None)


def test_a_target_that_cannot_be_found_fails_for_good_and_alone() -> None:
    bad, good = doing("no function"), doing(lambda _: "fine")

    outcomes = all_of(a_runner().run_batch([bad, good]))

    assert outcomes[bad.run_id].error == "target: give a function"
    assert not outcomes[bad.run_id].retryable
    assert outcomes[good.run_id].result == "fine"


def test_what_is_done_is_told_before_what_still_runs() -> None:
    gate = threading.Event()
    slow, fast = doing(lambda _: gate.wait(10)), doing(lambda _: None)

    handfuls = a_runner().run_batch([slow, fast])
    first = next(handfuls)
    gate.set()
    second = next(handfuls)

    assert [outcome.run_id for outcome in first] == [fast.run_id]
    assert [outcome.run_id for outcome in second] == [slow.run_id]


def test_runs_share_the_places_and_all_get_their_turn() -> None:
    together, most, lock = 0, 0, threading.Lock()

    def count(context: Context) -> None:
        nonlocal together, most
        with lock:
            together += 1
            most = max(most, together)
        context.sleep(0.005)
        with lock:
            together -= 1

    outcomes = all_of(a_runner(places=4).run_batch([doing(count) for _ in range(40)]))

    assert {outcome.verdict for outcome in outcomes.values()} == {Verdict.SUCCESS}
    assert most == 4


def test_a_run_that_waits_for_a_place_does_not_use_up_its_time() -> None:
    slow = doing(lambda context: context.sleep(1.2), timeout_seconds=60)
    waiting = doing(lambda _: None, timeout_seconds=1)

    outcomes = all_of(a_runner(places=1).run_batch([slow, waiting]))

    assert {outcome.verdict for outcome in outcomes.values()} == {Verdict.SUCCESS}


def test_free_says_how_many_more_could_start() -> None:
    runner, gate = a_runner(places=3), threading.Event()
    running = threading.Barrier(3)

    def wait(_context: Context) -> None:
        running.wait(10)
        gate.wait(10)

    assert runner.free == 3
    outcomes = runner.run_batch([doing(wait), doing(wait)])
    running.wait(10)
    assert runner.free == 1
    gate.set()
    assert len(all_of(outcomes)) == 2
    _until(lambda: runner.free == 3)


def test_a_run_past_its_time_is_told_to_stop() -> None:
    outcome = only(a_runner(), lambda context: context.sleep(60), timeout_seconds=1)

    assert outcome.verdict is Verdict.TIMED_OUT
    assert outcome.error == "timed out after 1 s, its timeout_seconds"


def test_one_that_gives_up_at_its_deadline_before_it_is_told_to_has_timed_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Alarms, "at", lambda *_: 0)  # so late that it never comes

    def give_up(context: Context) -> None:
        time.sleep(context.remaining())
        raise TargetFailed("gave no answer: timed out")

    outcome = only(a_runner(), give_up, timeout_seconds=0.05)

    assert outcome.verdict is Verdict.TIMED_OUT
    assert outcome.error == "timed out after 0.05 s, its timeout_seconds"


@pytest.mark.parametrize(
    ("changed", "seconds", "source"),
    [
        ({"priority": 1}, 60, "the limit of class P1"),
        ({"priority": 5}, 300, "the limit of class P2"),
        ({"priority": 8}, 1800, "the limit of class P3"),
        ({"priority": 10}, 3600, "the limit of class P4"),
        ({"priority": 1, "timeout_seconds": 7}, 7, "its timeout_seconds"),
        ({"priority": 1, "timeout_seconds": 7200}, 3600, "the limit of pool lambda"),
    ],
)
def test_the_timeout_is_the_jobs_own_else_its_classs_and_never_more_than_the_pools(
    changed: dict[str, Any], seconds: int, source: str
) -> None:
    timeout = timeout_of(doing(None, **changed), Limits())

    assert (timeout.seconds, timeout.source) == (seconds, source)


def test_a_lambda_pool_caps_every_class_that_is_longer() -> None:
    capped = {
        timeout_of(doing(None, priority=priority), Limits(longest_seconds=300)).seconds
        for priority in range(1, 11)
    }

    assert capped == {60, 300}
    assert list(CLASS_SECONDS.values()) == [60, 300, 1800, 3600]


def test_a_cancelled_run_stops_at_once() -> None:
    runner, begun = a_runner(), threading.Event()

    def wait(context: Context) -> None:
        begun.set()
        context.sleep(60)

    run = doing(wait)
    outcomes = runner.run_batch([run])
    assert begun.wait(10)
    started = time.monotonic()
    assert runner.cancel([run.run_id, uuid4()]) == {run.run_id}
    runner.cancel([run.run_id])
    [[outcome]] = outcomes

    assert time.monotonic() - started < SOON
    assert (outcome.verdict, outcome.error) == (Verdict.CANCELLED, "cancelled while it ran")


def test_a_run_that_is_cancelled_before_it_starts_never_does() -> None:
    runner, gate, ran = a_runner(places=1), threading.Event(), threading.Event()
    first, second = doing(lambda _: gate.wait(10)), doing(lambda _: ran.set())

    outcomes = runner.run_batch([first, second])
    runner.cancel([second.run_id])
    gate.set()
    ended = all_of(outcomes)

    assert ended[second.run_id].verdict is Verdict.CANCELLED
    assert ended[second.run_id].error == "cancelled before it started"
    assert ended[first.run_id].verdict is Verdict.SUCCESS
    assert not ran.is_set()


def test_cancelling_what_is_not_here_does_nothing() -> None:
    runner = a_runner()
    run = doing(lambda _: None)
    assert all_of(runner.run_batch([run]))

    assert runner.cancel([run.run_id]) == set()


def test_the_first_reason_to_stop_stands() -> None:
    runner, begun = a_runner(patience=5), threading.Event()

    def wait(context: Context) -> None:
        begun.set()
        while not context.cancelled():
            time.sleep(0.005)
        time.sleep(1.2)  # past its deadline by now

    run = doing(wait, timeout_seconds=1)
    outcomes = runner.run_batch([run])
    assert begun.wait(10)
    runner.cancel([run.run_id])

    assert all_of(outcomes)[run.run_id].verdict is Verdict.CANCELLED


def test_one_that_never_stops_is_left_behind_and_its_late_answer_is_nobodys() -> None:
    runner, gate = a_runner(places=1), threading.Event()
    stuck, after = doing(lambda _: gate.wait(30), timeout_seconds=1), doing(lambda _: "next")

    ended = all_of(runner.run_batch([stuck, after]))
    gate.set()

    assert ended[stuck.run_id].verdict is Verdict.TIMED_OUT
    assert (ended[stuck.run_id].error or "").endswith("and was left behind")
    assert ended[after.run_id].result == "next"
    _until(lambda: runner._crew.abandoned == 0)
    assert runner.free == 1


def test_with_too_many_left_behind_what_waits_is_given_back() -> None:
    runner, gate = a_runner(places=2, most_abandoned=2), threading.Event()
    stuck = [doing(lambda _: gate.wait(30), timeout_seconds=1) for _ in range(2)]
    waiting = [doing(lambda _: None) for _ in range(3)]
    holding = [doing(lambda context: context.sleep(60), timeout_seconds=60) for _ in range(2)]

    ended = all_of(runner.run_batch([*stuck]))
    later = all_of(runner.run_batch([*waiting, *holding]))
    gate.set()

    assert {each.verdict for each in ended.values()} == {Verdict.TIMED_OUT}
    assert {each.verdict for each in later.values()} == {Verdict.RELEASED}
    assert (runner.exhausted, runner.free) in {(True, 0), (False, 2)}


def test_a_closed_runner_gives_back_what_waits_and_ends_what_runs() -> None:
    runner, gate, begun = a_runner(places=1), threading.Event(), threading.Event()

    def wait(_context: Context) -> None:
        begun.set()
        gate.wait(10)

    running, waiting = doing(wait), doing(lambda _: None)
    outcomes = runner.run_batch([running, waiting])
    assert begun.wait(10)
    runner.close()
    after = all_of(runner.run_batch([doing(lambda _: None)]))
    gate.set()
    ended = all_of(outcomes)

    assert ended[running.run_id].verdict is Verdict.SUCCESS
    assert ended[waiting.run_id].verdict is Verdict.RELEASED
    assert {each.verdict for each in after.values()} == {Verdict.RELEASED}


@pytest.mark.parametrize("quick", [False, True])
def test_a_failure_says_what_happened_and_whether_it_may_be_tried_again(quick: bool) -> None:
    def fail(_context: Context) -> None:
        raise TargetFailed("not today", retryable=False, retry_after_seconds=30)

    fail.quick = quick  # type: ignore[attr-defined]
    outcome = only(a_runner(), fail)

    assert outcome.verdict is Verdict.FAILED
    assert outcome.error == "not today; try again in 30 s"
    assert not outcome.retryable


def test_a_log_store_that_is_away_fails_no_run() -> None:
    def speak(context: Context) -> None:
        context.stdout.write(b"hello")

    outcome = only(a_runner(), speak)

    assert (outcome.verdict, outcome.stdout, outcome.log_url) == (Verdict.SUCCESS, "hello", None)


def test_a_long_error_is_cut_in_its_middle() -> None:
    def fail(_context: Context) -> None:
        raise ValueError("a" * 100_000 + "the end")

    error = only(a_runner(), fail).error or ""

    assert len(error) < 4200
    assert error.startswith("ValueError: aaa")
    assert "characters left out" in error
    assert error.endswith("the end")


def test_a_revealed_secret_is_masked_in_result_error_and_output() -> None:
    from lamplighter.domain.target import Secret

    def leak(context: Context) -> Any:
        value = context.reveal(Secret("key"))
        assert value == "acme-key-value"
        context.stderr.write(f"it is {value}".encode())
        return {value: [f"<{value}>"]}

    def fail(context: Context) -> None:
        raise ValueError(context.reveal(Secret("key")))

    leaked, failed = only(a_runner(), leak), only(a_runner(), fail)

    assert leaked.result == {"•••": ["<•••>"]}
    assert leaked.stderr == "it is •••"
    assert failed.error == "ValueError: •••"


def test_a_thousand_runs_in_threads_end_once_each() -> None:
    outcomes = all_of(a_runner(places=16).run_batch([doing(lambda _: None) for _ in range(1000)]))

    assert len(outcomes) == 1000


def _until(condition: Callable[[], bool], seconds: float = 10) -> None:
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, "it did not come true in time"
        time.sleep(0.005)
