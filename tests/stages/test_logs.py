"""A run's log: from the store where it has one, else from the ledger, and only for its tenant."""

from pathlib import Path
from uuid import UUID

import msgspec
import pytest

from lamplighter.adapters.logs.folder import FolderLogs
from lamplighter.domain.run import Outcome, Verdict
from lamplighter.ports.logs import LogName, LogWriter
from tests.functions.calling import Answer
from tests.functions.world import World


class LoggedWorld(World):
    """A world with a log store, and one job whose run can be started."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.logs = FolderLogs(folder)
        self.desk = msgspec.structs.replace(self.desk, logs=self.logs)
        job_id = self.call.submit(max_retries=1)
        [run] = self.call("GET", f"/jobs/{job_id}/runs").body
        self.run_id = UUID(run["run_id"])

    def writer(self, fence: int) -> LogWriter:
        return self.logs.open(LogName("default", self.run_id, fence))

    def end(self, fence: int, verdict: Verdict = Verdict.SUCCESS, **kept: str | None) -> None:
        self.ledger.finish([Outcome(run_id=self.run_id, fence=fence, verdict=verdict, **kept)])  # type: ignore[arg-type]

    def log(self, **query: str) -> Answer:
        return self.call("GET", f"/runs/{self.run_id}/log", query=query)


@pytest.fixture
def world(tmp_path: Path) -> LoggedWorld:
    return LoggedWorld(tmp_path)


def test_the_whole_log_is_read_piece_by_piece_and_no_character_is_cut(world: LoggedWorld) -> None:
    fence, text = world.claim(world.run_id), "dépôt → ligne 1\n" * 20
    writer = world.writer(fence)
    writer.write(text.encode())
    world.end(fence, log_url=writer.close())

    read, offset = "", "0"
    while piece := (answer := world.log(offset=offset, limit="7")).body:
        read, offset = read + piece, answer.headers["log-next-offset"]

    assert read == text
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["run-status"] == "SUCCESS"


def test_the_log_of_a_run_is_there_while_it_runs(world: LoggedWorld) -> None:
    fence = world.claim(world.run_id)
    assert (world.log().status, world.log().body) == (200, "")

    writer = world.writer(fence)
    writer.write("halfway é".encode()[:-1])

    assert world.log().body == "halfway "
    assert world.log().headers["run-status"] == "RUNNING"
    writer.close()


def test_a_second_attempt_does_not_show_the_log_of_the_first(world: LoggedWorld) -> None:
    first = world.claim(world.run_id)
    writer = world.writer(first)
    writer.write(b"first")
    world.end(first, Verdict.FAILED, log_url=writer.close())
    assert world.log().body == "first"

    world.wind(minutes=1)
    second = world.claim(world.run_id, first)

    assert world.log().body == ""
    assert world.log().headers["log-fence"] == str(second)


def test_without_a_log_the_kept_output_is_shown(world: LoggedWorld) -> None:
    world.end(world.claim(world.run_id), stdout="out\n", stderr="err\n")

    assert world.log().body == "out\nerr\n"
    assert world.log(offset="4").body == "err\n"


def test_a_log_that_is_gone_is_replaced_by_the_kept_output(world: LoggedWorld) -> None:
    gone = world.logs.url(LogName("default", world.run_id, 9))
    world.end(world.claim(world.run_id), stdout="beginning", log_url=gone)

    assert world.log().body == "beginning"


def test_a_run_that_printed_nothing_has_no_log(world: LoggedWorld) -> None:
    world.end(world.claim(world.run_id))

    answer = world.log()

    assert (answer.status, answer.error["code"]) == (404, "log_not_found")
    assert "printed nothing" in answer.error["message"]


def test_a_run_that_waits_has_an_empty_log(world: LoggedWorld) -> None:
    assert (world.log().status, world.log().body) == (200, "")


def test_nobody_reads_the_log_of_another_tenant(world: LoggedWorld) -> None:
    world.end(world.claim(world.run_id), stdout="ours")

    answer = world.call("GET", f"/runs/{world.run_id}/log", tenant="other")

    assert (answer.status, answer.error["code"]) == (404, "run_not_found")


@pytest.mark.parametrize("query", [{"offset": "-1"}, {"limit": "1"}, {"limit": "9999999"}])
def test_a_piece_that_makes_no_sense_is_refused(world: LoggedWorld, query: dict[str, str]) -> None:
    assert world.log(**query).status == 422
