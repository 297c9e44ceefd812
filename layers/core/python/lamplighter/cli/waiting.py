"""Following what is under way: polls that begin quick and get slower, until there is an end."""

import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import click

from lamplighter.cli.api import REFUSED, Answer, Refused, Unreachable
from lamplighter.cli.session import Session
from lamplighter.cli.tables import plain, plain_lines, say, say_json
from lamplighter.domain.states import RunState

_ENDED: Final = frozenset(state.name for state in RunState if state.is_final)
_SHORTEST_SECONDS: Final = 0.05
_LONGEST_SECONDS: Final = 2.0
_SILENCE_SECONDS: Final = 30.0
_GONE: Final = frozenset({"CANCELLED", "REJECTED"})


class Pace:
    """How long to rest before looking again: twice as long each time that nothing was new."""

    def __init__(self) -> None:
        self._seconds = _SHORTEST_SECONDS

    def rest(self) -> None:
        time.sleep(self._seconds)
        self._seconds = min(2 * self._seconds, _LONGEST_SECONDS)

    def hurry(self) -> None:
        self._seconds = _SHORTEST_SECONDS


def insist(ask: Callable[[], Answer]) -> Answer:
    """Ask again while nobody answers: what is waited for outlives a restart of whoever tells."""
    deadline, pace = time.monotonic() + _SILENCE_SECONDS, Pace()
    while True:
        try:
            return ask()
        except (Unreachable, Refused) as problem:
            is_lasting = isinstance(problem, Refused) and not problem.is_temporary
            if is_lasting or time.monotonic() > deadline:
                raise
        pace.rest()


def has_ended(status: str) -> bool:
    return status in _ENDED


def wait_for(session: Session, job_ids: list[str], *, deferred: bool = False) -> None:
    """The first fire of each, to its end. Exit code 0 only when all of them succeeded."""
    try:
        runs = [run for each in job_ids for run in _ended_runs(session, each, deferred=deferred)]
    except KeyboardInterrupt:
        _tell_that_it_goes_on(job_ids)
        raise
    if session.json:
        say_json(runs)
    else:
        for run in runs:
            _tell(run)
    if any(run["status"] != "SUCCESS" for run in runs):
        raise click.exceptions.Exit(REFUSED)


def _tell_that_it_goes_on(job_ids: list[str]) -> None:
    """Ctrl-C ends the waiting only. On standard error, also for programs: it is no answer."""
    last = plain(job_ids[-1])
    goes = "The job goes" if len(job_ids) == 1 else "The jobs go"
    say(f"\n{goes} on. To look: lamplighter show {last}, or logs {last} --follow.", err=True)
    say(f"To end it: lamplighter cancel {last}", err=True)


def _ended_runs(session: Session, job_id: str, *, deferred: bool) -> list[dict[str, Any]]:
    if not session.json:
        say(f"Job {plain(job_id)} is submitted; waiting for its first run.", err=True)
    pace = Pace()
    while True:
        first = _first_runs(session, job_id, deferred=deferred)
        if first and all(has_ended(run["status"]) for run in first):
            return [_whole_run(session, run["run_id"]) for run in first]
        if not first:
            _check_that_it_will_run(session, job_id, deferred=deferred)
        pace.rest()


def _whole_run(session: Session, run_id: str) -> dict[str, Any]:
    run: dict[str, Any] = insist(lambda: session.api.get(f"/runs/{run_id}")).body
    return run


def _first_runs(session: Session, job_id: str, *, deferred: bool) -> list[dict[str, Any]]:
    """Those of its first fire, one per pool. The list is by fire, the latest in front."""
    found = _if_known(lambda: session.api.get(f"/jobs/{job_id}/runs", limit=500), deferred=deferred)
    runs: list[dict[str, Any]] = found.body if found else []
    return [run for run in runs if run["fire_at"] == runs[-1]["fire_at"]]


def _check_that_it_will_run(session: Session, job_id: str, *, deferred: bool) -> None:
    found = _if_known(lambda: session.api.get(f"/jobs/{job_id}"), deferred=deferred)
    if found and found.body["status"] in _GONE:
        sentence = session.api.get(f"/jobs/{job_id}/explain").body["explanation"]
        raise Refused(f"There is nothing to wait for. {plain(sentence)}")


def _if_known(ask: Callable[[], Answer], *, deferred: bool) -> Answer | None:
    """None while the API is not to be asked, or has not heard of a job that it has accepted."""
    try:
        return insist(ask)
    except Refused as refused:
        if refused.is_temporary or (deferred and refused.code == "job_not_found"):
            return None
        raise


def _tell(run: dict[str, Any]) -> None:
    for stream, err in (("stdout", False), ("stderr", True)):
        if text := run.get(stream):
            show_output(text, err=err)
    why = run.get("error_message") or run.get("reason")
    ending = f"{run['status']}: {plain(str(why))}" if why else run["status"]
    say(f"Run {plain(run['run_id'])} ended as {ending}", err=True)


def show_output(text: str, *, err: bool = False, raw: bool = False) -> None:
    """A terminal is spared the control characters of a job's output; a pipe gets them."""
    stream = sys.stderr if err else sys.stdout
    click.echo(
        plain_lines(text) if stream.isatty() and not raw else text, nl=False, err=err, color=True
    )


def follow_log(session: Session, run_id: str) -> Iterator[str]:
    """Piece after piece until the run has ended; a run that is started again begins anew."""
    pace, offset, fence = Pace(), 0, None
    while True:
        answer = insist(partial(session.api.get, f"/runs/{run_id}/log", offset=offset))
        if fence not in {None, answer.headers["log-fence"]}:
            say("The run was started again.", err=True)
            offset, fence = 0, None
            continue
        offset, fence = int(answer.headers["log-next-offset"]), answer.headers["log-fence"]
        if answer.body:
            yield answer.body
            pace.hurry()
        elif has_ended(answer.headers["run-status"]):
            return
        else:
            pace.rest()
