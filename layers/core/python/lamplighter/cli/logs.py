"""`logs`: what a run printed."""

from collections.abc import Iterator

import click

from lamplighter.cli.api import Refused
from lamplighter.cli.session import Id, Session, asks
from lamplighter.cli.tables import say_json
from lamplighter.cli.waiting import follow_log, show_output


@click.command()
@click.argument("target", metavar="JOB|RUN", type=Id())
@click.option("--follow", "-f", is_flag=True, help="Go on until the run has ended.")
@click.option("--raw", is_flag=True, help="Control characters as they are, also on a terminal.")
@asks
def logs(session: Session, target: str, *, follow: bool, raw: bool) -> None:
    """Print what a run printed; of a job, its latest run."""
    run_id = _run_of(session, target)
    pieces = follow_log(session, run_id) if follow else _whole(session, run_id)
    try:
        if session.json:
            say_json({"run_id": run_id, "log": "".join(pieces)})
            return
        for piece in pieces:
            show_output(piece, raw=raw)
    except Refused as refused:
        # A run that ended in silence is no mistake of whoever asks for what it said.
        if refused.code != "log_not_found" or not follow:
            raise


def _run_of(session: Session, target: str) -> str:
    answer = session.job_or_run(
        target, lambda path: session.api.get(f"{path}/status"), session.api.get
    )
    latest = answer.body if "run_id" in answer.body else answer.body["latest_run"]
    if latest is None:
        raise Refused(f"Job {target} has no run yet. `lamplighter explain {target}` says why.")
    return str(latest["run_id"])


def _whole(session: Session, run_id: str) -> Iterator[str]:
    """What there is by now."""
    offset = 0
    while True:
        answer = session.api.get(f"/runs/{run_id}/log", offset=offset)
        if not answer.body:
            return
        yield answer.body
        offset = int(answer.headers["log-next-offset"])
