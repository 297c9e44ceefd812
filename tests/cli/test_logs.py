"""`logs`: what a run printed, now or while it prints."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import msgspec
import pytest

from lamplighter.adapters.logs.folder import FolderLogs
from lamplighter.cli import waiting
from lamplighter.domain.run import Outcome, Verdict
from lamplighter.ports.logs import LogName, LogWriter
from tests.cli.conftest import Cli
from tests.cli.serving import AWAY, SILENCE, Served


class Running:
    """A run in the hands of a worker that prints into its log."""

    def __init__(self, world: Served, folder: Path) -> None:
        self.world = world
        self.logs = FolderLogs(folder)
        world.desk = msgspec.structs.replace(world.desk, logs=self.logs)
        self.job_id = world.call.submit(max_retries=1)
        self.run_id: UUID = world.hinted[-1].run_id
        self.fence = 0
        self.start()

    def start(self) -> None:
        self.fence = self.world.claim(self.run_id, self.fence)
        self.writer: LogWriter = self.logs.open(LogName("default", self.run_id, self.fence))

    def prints(self, text: str) -> Callable[[], None]:
        return lambda: self.writer.write(text.encode())

    def ends(self, verdict: Verdict = Verdict.SUCCESS) -> None:
        url = self.writer.close()
        ended = Outcome(run_id=self.run_id, fence=self.fence, verdict=verdict, log_url=url)
        self.world.ledger.finish([ended])


@pytest.fixture
def running(world: Served, tmp_path: Path) -> Running:
    return Running(world, tmp_path)


def test_the_log_of_a_job_is_that_of_its_latest_run(cli: Cli, running: Running) -> None:
    running.prints("one\ntwo\n")()
    running.ends()

    assert cli("logs", running.job_id).stdout == "one\ntwo\n"
    assert cli("logs", str(running.run_id)).stdout == "one\ntwo\n"
    assert json.loads(cli("logs", running.job_id, "--json").stdout)["log"] == "one\ntwo\n"


def test_without_follow_it_ends_with_what_there_is(cli: Cli, running: Running) -> None:
    running.prints("halfway")()
    assert cli("logs", running.job_id).stdout == "halfway"
    running.ends()


def test_a_long_log_comes_whole(cli: Cli, running: Running) -> None:
    text = "".join(f"ligne {number} é\n" for number in range(50_000))
    running.prints(text)()
    running.ends()

    assert cli("logs", running.job_id).stdout == text


def test_follow_goes_on_until_the_run_has_ended(cli: Cli, running: Running) -> None:
    looked_up = [lambda: None, lambda: None]
    running.world.script = [
        *looked_up,
        lambda: SILENCE,
        lambda: AWAY,
        running.prints("one\n"),
        running.prints("two\n"),
        lambda: None,
        running.ends,
    ]

    assert cli("logs", str(running.run_id), "--follow").stdout == "one\ntwo\n"


def test_follow_begins_anew_when_the_run_is_started_again(cli: Cli, running: Running) -> None:
    def again() -> None:
        running.ends(Verdict.FAILED)
        running.world.wind(minutes=5)
        running.start()
        running.prints("second\n")()

    running.world.script = [lambda: None, lambda: None, running.prints("a long first\n"), again,
                            lambda: None, running.ends]  # fmt: skip

    done = cli("logs", str(running.run_id), "--follow")

    assert done.stdout == "a long first\nsecond\n"
    assert "started again" in done.stderr


def test_a_run_that_said_nothing_is_told_so(cli: Cli, world: Served) -> None:
    job_id = world.call.submit(max_retries=0)
    run_id = world.hinted[-1].run_id
    world.finish(run_id, world.claim(run_id))

    assert "printed nothing" in cli("logs", job_id, exits=1).stderr
    assert cli("logs", job_id, "--follow").stdout == ""


def test_a_job_without_a_run_has_no_log(cli: Cli, world: Served) -> None:
    job_id = world.call.submit(schedule_time="2039-01-01T00:00:00Z")
    world.call("DELETE", f"/jobs/{job_id}")

    assert "has no run yet" in cli("logs", job_id, exits=1).stderr


def test_on_a_terminal_output_moves_no_cursor(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    waiting.show_output("\x1b[2Jpiped")
    assert capsys.readouterr().out == "\x1b[2Jpiped"

    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    waiting.show_output("\x1b[2Ja\tb\n\r")
    waiting.show_output("\x1b[0m", raw=True)

    assert capsys.readouterr().out == "\\x1b[2Ja\tb\n\\r\x1b[0m"
