"""Commands that do not want to end, or that say too much. Each disturbs nobody but itself."""

import contextlib
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lamplighter.domain.run import Claimed, Outcome, Verdict
from lamplighter.stages.run import Runner
from tests.adapters.targets.running import a_runner, command, run_all, run_one

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs a subreaper and /proc")

# A moment, also where the machine stands still for a while; what is not ended takes ten minutes.
SOON = 20.0
# Two forks and a session of its own: what a daemon does to get rid of whoever started it.
DETACH = f"""{sys.executable} -c '
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.environ.clear()
        open("PATH", "w").write(str(os.getpid()))
        time.sleep(600)
    os._exit(0)
os.wait()
'"""


def test_one_that_runs_too_long_is_ended_with_all_it_started(runner: Runner) -> None:
    outcome, seconds = _timed(runner, command("sleep 600 & sleep 600", timeout_seconds=1))

    assert outcome.verdict is Verdict.TIMED_OUT
    assert outcome.error == "timed out after 1 s, its timeout_seconds"
    assert 1 <= seconds < SOON


def test_what_it_printed_before_its_time_was_over_is_kept(runner: Runner) -> None:
    outcome = run_one(runner, command("echo begun; sleep 600", timeout_seconds=2))

    assert (outcome.verdict, outcome.stdout) == (Verdict.TIMED_OUT, "begun\n")


def test_one_that_ignores_sigterm_is_killed_after_the_grace(runner: Runner) -> None:
    line = "trap '' TERM; echo deaf; while :; do sleep 0.1; done"

    outcome, seconds = _timed(runner, command(line, timeout_seconds=2, grace_seconds=0.5))

    assert (outcome.verdict, outcome.stdout) == (Verdict.TIMED_OUT, "deaf\n")
    assert 2.5 <= seconds < SOON


def test_one_that_cleans_up_in_its_grace_may(runner: Runner) -> None:
    line = "trap 'echo tidy; exit 0' TERM; while :; do sleep 0.1; done"

    outcome = run_one(runner, command(line, timeout_seconds=2))

    assert (outcome.verdict, outcome.stdout) == (Verdict.TIMED_OUT, "tidy\n")


def test_one_that_is_stopped_by_a_signal_is_ended_too(runner: Runner) -> None:
    outcome, seconds = _timed(runner, command("kill -STOP $$", timeout_seconds=1))

    assert outcome.verdict is Verdict.TIMED_OUT
    assert seconds < SOON


@linux
def test_all_that_it_left_are_counted(runner: Runner) -> None:
    outcome = run_one(runner, command("for i in 1 2 3 4 5 6 7 8; do sleep 60 & done"))

    assert "[lamplighter: ended 8 process(es)" in (outcome.stderr or "")


@linux
def test_one_that_forks_and_detaches_leaves_nothing_behind(runner: Runner, tmp_path: Path) -> None:
    note = tmp_path / "pid"

    outcome = run_one(runner, command(f"{DETACH.replace('PATH', str(note))}; echo done"))

    assert (outcome.verdict, outcome.stdout) == (Verdict.SUCCESS, "done\n")
    assert "process(es) that the command had left" in (outcome.stderr or "")
    assert not _lives(int(note.read_text()))


@linux
def test_a_detached_one_ends_when_its_run_times_out(runner: Runner, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    line = f"{DETACH.replace('PATH', str(note))}; sleep 600"

    outcome = run_one(runner, command(line, timeout_seconds=5))  # Python has to start in it

    assert outcome.verdict is Verdict.TIMED_OUT
    assert not _lives(int(note.read_text()))


def test_a_process_that_holds_the_output_open_does_not_hold_up_the_run(runner: Runner) -> None:
    outcome, seconds = _timed(runner, command("sleep 600 & echo done"))

    assert (outcome.verdict, outcome.stdout) == (Verdict.SUCCESS, "done\n")
    assert seconds < SOON


def test_a_gigabyte_of_output_costs_neither_memory_nor_the_log_store(tmp_path: Path) -> None:
    limit = 1024 * 1024
    runner = a_runner(tmp_path, log_bytes=limit)
    before = _memory()

    line = "echo first; head -c 1000000000 /dev/zero | tr '\\0' x; echo last"
    outcome = run_one(runner, command(line))

    kept = outcome.stdout or ""
    assert outcome.verdict is Verdict.SUCCESS
    assert kept.startswith("first\nxxx")
    assert kept.endswith("xxxlast\n")
    assert "… 999,983,627 bytes left out …" in kept
    assert len(kept) < 17 * 1024
    assert _memory() - before < 50 * 1024 * 1024
    assert sum(each.stat().st_size for each in tmp_path.rglob("*.log")) < limit + 200


def test_binary_output_is_kept_as_text_that_any_store_takes(runner: Runner) -> None:
    outcome = run_one(runner, command(r"printf 'a\000b\377\376c\303'"))

    assert outcome.stdout == "a\ufffdb\ufffd\ufffdc\ufffd"


def test_one_that_closes_its_outputs_is_still_waited_for(runner: Runner) -> None:
    outcome, seconds = _timed(runner, command("exec >&- 2>&-; sleep 0.5; exit 4"))

    assert outcome.error == "exit code 4"
    assert seconds >= 0.5


def test_others_go_on_while_one_floods_and_one_hangs(runner: Runner) -> None:
    flood, hang, *others = run_all(
        runner,
        command("yes", timeout_seconds=1),
        command("sleep 600", timeout_seconds=1),
        *[command(f"echo {n}") for n in range(10)],
    )

    assert flood.verdict is hang.verdict is Verdict.TIMED_OUT
    assert [other.stdout for other in others] == [f"{n}\n" for n in range(10)]


def test_a_cancelled_one_ends_at_once(runner: Runner) -> None:
    run = command("echo begun; sleep 600")
    outcomes = runner.run_batch([run])
    _until(lambda: _printed(runner, run))

    started = time.monotonic()
    assert runner.cancel([run.run_id]) == {run.run_id}
    [outcome] = next(outcomes)

    assert time.monotonic() - started < SOON
    assert (outcome.verdict, outcome.error) == (Verdict.CANCELLED, "cancelled while it ran")
    assert outcome.stdout == "begun\n"


@linux
def test_a_killed_guardian_is_reported_and_the_next_command_runs(
    runner: Runner, tmp_path: Path
) -> None:
    note = tmp_path / "pid"
    # A command knows its guardian: it is its parent.
    killer = command(f"echo $$ > {note}; kill -9 $PPID; sleep 600")
    outcome, after = run_all(runner, killer, command("echo fine"))

    assert outcome.verdict is Verdict.FAILED
    _until(lambda: not _lives(int(note.read_text())))
    assert "guardian died" in (outcome.error or "")
    assert after.stdout == "fine\n"


@linux
def test_a_killed_keeper_is_replaced(tmp_path: Path) -> None:
    runner = a_runner(tmp_path)
    line = "grep PPid /proc/$PPID/status | cut -f 2"
    keeper = int(run_one(runner, command(line)).stdout or "0")

    os.kill(keeper, signal.SIGKILL)
    _until(lambda: not _lives(keeper))

    assert run_one(runner, command("echo fine")).stdout == "fine\n"


@linux
def test_a_command_ends_when_its_worker_is_killed(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    worker = subprocess.Popen(
        [sys.executable, "-c", _WORKER, str(tmp_path), f"echo $$ > {note}; sleep 600"],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
    )
    _until(lambda: note.exists() and note.read_text().strip() != "")

    worker.kill()
    worker.wait()

    _until(lambda: not _lives(int(note.read_text())))


_WORKER = """
import sys
from pathlib import Path
from tests.adapters.targets.running import a_runner, command, run_one
run_one(a_runner(Path(sys.argv[1])), command(sys.argv[2]))
"""


def _timed(runner: Runner, run: Claimed) -> tuple[Outcome, float]:
    started = time.monotonic()
    outcome = run_one(runner, run)
    return outcome, time.monotonic() - started


def _until(condition: object, seconds: float = 30) -> None:
    assert callable(condition)
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, "it did not come true in time"
        time.sleep(0.01)


def _lives(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return b") Z" not in Path(f"/proc/{pid}/stat").read_bytes()
    return False


def _printed(runner: Runner, run: Claimed) -> bool:
    context = runner._attempts[run.run_id].context
    return context is not None and context.stdout.text() is not None


def _memory() -> int:
    """The most this process ever had, in bytes."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
