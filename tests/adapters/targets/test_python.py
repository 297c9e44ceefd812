"""Handlers: which may be called, what they may do, and how the ones that never end do end."""

import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lamplighter.adapters.targets.python import handlers
from lamplighter.adapters.targets.python.handlers import handler
from lamplighter.domain.run import Verdict
from lamplighter.ports.target import Context, TargetFailed
from lamplighter.stages.run import Runner
from tests.adapters.targets.running import a_runner, claim, python, run_all, run_one


@pytest.fixture
def registered() -> Iterator[None]:
    """Names that a test registers are gone after it."""
    before = dict(handlers._registered)
    yield
    handlers._registered.clear()
    handlers._registered.update(before)


pytestmark = pytest.mark.usefixtures("registered")


def test_the_built_in_handlers_do_as_they_say(runner: Runner) -> None:
    noop, echo, sleep, fail = run_all(
        runner,
        python("builtin.noop", {"a": 1}),
        python("builtin.echo", {"a": [1, None, "ü"]}),
        python("builtin.sleep", {"seconds": 0.01}),
        python("builtin.fail", {"message": "as asked", "retryable": False}),
    )

    assert (noop.verdict, noop.result) == (Verdict.SUCCESS, None)
    assert (echo.verdict, echo.result) == (Verdict.SUCCESS, {"a": [1, None, "ü"]})
    assert (sleep.verdict, sleep.result) == (Verdict.SUCCESS, {"slept_seconds": 0.01})
    assert (fail.verdict, fail.error, fail.retryable) == (Verdict.FAILED, "as asked", False)


def test_fail_can_succeed_at_a_later_attempt(runner: Runner) -> None:
    attempts = [python("builtin.fail", {"attempts": 2}, attempt=number) for number in (1, 2, 3)]

    verdicts = [outcome.verdict for outcome in run_all(runner, *attempts)]

    assert verdicts == [Verdict.FAILED, Verdict.FAILED, Verdict.SUCCESS]


@pytest.mark.parametrize("payload", [-1, "long", {"seconds": []}, True])
def test_sleep_refuses_what_is_no_time(runner: Runner, payload: object) -> None:
    outcome = run_one(runner, python("builtin.sleep", payload))

    assert (outcome.verdict, outcome.retryable) == (Verdict.FAILED, False)


def test_a_job_without_a_target_gets_the_deployments_default(runner: Runner) -> None:
    assert run_one(runner, claim(None, "hello")).result == "hello"


@pytest.mark.parametrize("name", ["os:system", "os.system", "nobody", "json.tool:main"])
def test_a_handler_that_is_not_registered_is_refused_for_good(runner: Runner, name: str) -> None:
    outcome = run_one(runner, python(name, "true"))

    assert (outcome.verdict, outcome.retryable) == (Verdict.FAILED, False)
    assert "is registered on this worker" in (outcome.error or "")
    assert "builtin.echo" in (outcome.error or "")


def test_functions_of_an_allowed_package_may_be_called_by_their_path(tmp_path: Path) -> None:
    runner = a_runner(tmp_path, allowed=["tests.adapters.targets"])
    here = "tests.adapters.targets.allowed"

    outcomes = run_all(
        runner,
        python(f"{here}:double", 21),
        python(f"{here}.double", 4),
        python(f"{here}:missing"),
        python(f"{here}_not:double"),
        python("tests.adapters.targets_other:double"),
        python(f"{here}:NUMBER"),
        python(f"{here}:later"),
    )

    assert [outcome.result for outcome in outcomes[:2]] == [42, 8]
    assert all(outcome.verdict is Verdict.FAILED for outcome in outcomes[2:])
    assert not any(outcome.retryable for outcome in outcomes[2:])
    assert "is not a function" in (outcomes[5].error or "")
    assert "is a coroutine function" in (outcomes[6].error or "")


@pytest.mark.parametrize(
    "name", ["check_output", "imported", "Report", "_helper", "bound", "partial"]
)
def test_a_module_that_is_allowed_offers_its_own_public_functions_alone(
    tmp_path: Path, name: str
) -> None:
    here = "tests.adapters.targets.allowed"
    runner = a_runner(tmp_path, allowed=[here])

    refused, wrapped = run_all(
        runner, python(f"{here}:{name}", ["true"]), python(f"{here}:triple", 2)
    )

    assert (refused.verdict, refused.retryable) == (Verdict.FAILED, False)
    assert "is not for jobs" in (refused.error or "")
    assert wrapped.result == 6


def test_private_modules_of_an_allowed_package_are_not_allowed_with_it(tmp_path: Path) -> None:
    runner = a_runner(tmp_path, allowed=["zoneinfo"])

    outcome = run_one(runner, python("zoneinfo._tzpath:find_tzfile"))

    assert "its module is not allowed" in (outcome.error or "")


def test_a_deployments_modules_register_their_handlers(runner: Runner) -> None:
    handlers.Handlers(modules=["tests.adapters.targets.registering"])

    assert run_one(runner, python("deployed.shout", "hello")).result == "HELLO"


def test_two_handlers_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="rename one of them"):
        handler("builtin.echo")(lambda payload, _context: payload)


def test_a_handler_learns_of_its_run(runner: Runner) -> None:
    @handler("about")
    def about(_payload: Any, context: Context) -> list[Any]:
        run = context.run
        return [str(run.run_id), run.fence, run.attempt, context.timeout_seconds,
                0 < context.remaining() <= 60, context.cancelled()]  # fmt: skip

    run = python("about", priority=1)

    assert run_one(runner, run).result == [str(run.run_id), 7, 1, 60, True, False]


def test_what_it_prints_is_its_runs_and_nobody_elses(
    runner: Runner, capsys: pytest.CaptureFixture[str]
) -> None:
    both = threading.Barrier(2)

    @handler("printing")
    def printing(payload: Any, _context: Context) -> None:
        both.wait(10)
        for _ in range(100):
            sys.stdout.write(f"{payload}\n")
            print(payload, file=sys.stderr)  # noqa: T201
        both.wait(10)

    first, second = run_all(runner, python("printing", "one"), python("printing", "two"))
    print("the worker's own")  # noqa: T201

    assert first.stdout == first.stderr == "one\n" * 100
    assert second.stdout == second.stderr == "two\n" * 100
    assert capsys.readouterr().out == "the worker's own\n"


def test_an_exception_fails_the_run_and_leaves_its_traceback(runner: Runner) -> None:
    @handler("raising")
    def raising(_payload: Any, _context: Context) -> None:
        raise ValueError("no such order")

    outcome = run_one(runner, python("raising"))

    assert (outcome.verdict, outcome.error) == (Verdict.FAILED, "ValueError: no such order")
    assert outcome.retryable
    assert "in raising" in (outcome.stderr or "")


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not even this")


STRANGE = {
    "keyboard": (KeyboardInterrupt(), "KeyboardInterrupt"),
    "generator": (GeneratorExit(), "GeneratorExit"),
    "base": (BaseException("odd"), "BaseException: odd"),
    "memory": (MemoryError(), "ran out of memory"),
    "unprintable": (Unprintable(), "Unprintable"),
    "nul": (ValueError("a\0b\ud800"), "ValueError: a\ufffdb?"),
    "exit 3": (SystemExit(3), "the handler called sys.exit(3)"),
    "exit text": (SystemExit("bye"), "the handler called sys.exit('bye')"),
    "for good": (TargetFailed("never", retryable=False), "never"),
}


@pytest.mark.parametrize("name", STRANGE)
def test_whatever_it_raises_is_its_own_runs_failure(runner: Runner, name: str) -> None:
    error, text = STRANGE[name]

    @handler("strange")
    def strange(_payload: Any, _context: Context) -> None:
        raise error

    outcome, after = run_all(runner, python("strange"), python("builtin.sleep", 0))

    assert (outcome.verdict, outcome.error) == (Verdict.FAILED, text)
    assert outcome.retryable is (name != "for good")
    assert after.verdict is Verdict.SUCCESS


def test_leaving_with_zero_is_a_way_to_return(runner: Runner) -> None:
    @handler("leaving")
    def leaving(_payload: Any, _context: Context) -> None:
        sys.exit(0)

    assert run_one(runner, python("leaving")).verdict is Verdict.SUCCESS


def test_a_recursion_without_end_is_a_failure_like_others(runner: Runner) -> None:
    @handler("recursing")
    def recursing(payload: Any, context: Context) -> None:
        recursing(payload, context)

    outcome = run_one(runner, python("recursing"))

    assert (outcome.error or "").startswith("RecursionError")
    assert len(outcome.stderr or "") < 20_000


def test_a_quick_handler_that_raises_disturbs_no_other(runner: Runner) -> None:
    @handler("quick", quick=True)
    def quick(payload: Any, _context: Context) -> Any:
        if payload == 500:
            sys.exit(1)
        return payload

    outcomes = run_all(runner, *[python("quick", number) for number in range(1000)])

    assert [outcome.result for outcome in outcomes[:500]] == list(range(500))
    assert outcomes[500].error == "SystemExit: 1"
    assert outcomes[999].result == 999


def test_one_that_looks_stops_when_its_time_is_over(runner: Runner) -> None:
    @handler("looking")
    def looking(_payload: Any, context: Context) -> str:
        while not context.cancelled():
            time.sleep(0.01)
        return "I was told to"

    outcome = run_one(runner, python("looking", timeout_seconds=1))

    assert outcome.verdict is Verdict.TIMED_OUT
    assert outcome.error == "timed out after 1 s, its timeout_seconds"


def test_one_that_loops_for_ever_is_interrupted(runner: Runner) -> None:
    @handler("looping")
    def looping(_payload: Any, _context: Context) -> None:
        while True:
            try:
                time.sleep(0.001)
            except Exception:  # noqa: BLE001, S112 - the kind of code that makes this hard
                continue

    outcome = run_one(runner, python("looping", timeout_seconds=1))

    assert outcome.verdict is Verdict.TIMED_OUT
    assert "left behind" not in (outcome.error or "")


def test_one_that_waits_in_c_is_left_behind_and_its_place_is_free(tmp_path: Path) -> None:
    runner = a_runner(tmp_path, places=1)
    forever = threading.Event()

    @handler("waiting")
    def waiting(_payload: Any, _context: Context) -> None:
        print("here I stay")  # noqa: T201
        forever.wait()

    stuck, after = run_all(runner, python("waiting", timeout_seconds=1), python("builtin.sleep", 0))
    try:
        assert stuck.verdict is Verdict.TIMED_OUT
        assert (stuck.error or "").endswith("it did not stop when told to, and was left behind")
        assert stuck.stdout == "here I stay\n"
        assert after.verdict is Verdict.SUCCESS
        assert not runner.exhausted
    finally:
        forever.set()


def test_a_result_that_is_no_json_is_said_to_be_none(runner: Runner) -> None:
    circle: list[Any] = []
    circle.append(circle)
    results = {"circle": circle, "object": object(), "nul": {"a\0": "b\0"}, "set": {1},
               "deep": _nested(5000), "nan": float("nan")}  # fmt: skip

    @handler("returning")
    def returning(payload: Any, _context: Context) -> Any:
        return results[payload]

    kept = {name: run_one(runner, python("returning", name)).result for name in results}

    assert kept["circle"]["not_json"] == "list"
    assert kept["object"]["not_json"] == "object"
    assert kept["nul"] == {"a\ufffd": "b\ufffd"}
    assert kept["set"] == [1]
    assert "too_deep" in kept["deep"] or "not_json" in kept["deep"]
    assert kept["nan"] is None


def test_a_huge_result_is_cut_with_a_mark(runner: Runner) -> None:
    outcome = run_one(runner, python("builtin.echo", "x" * 1_000_000))

    assert outcome.verdict is Verdict.SUCCESS
    assert (outcome.result["truncated"], outcome.result["bytes"]) == (True, 1_000_002)
    assert len(outcome.result["head"]) == 4096


def _nested(levels: int) -> Any:
    value: Any = 0
    for _ in range(levels):
        value = [value]
    return value
