"""`cancel`, `pause`, `resume`, `run-now`: people change their minds."""

import click

from lamplighter.cli.session import Id, Session, asks
from lamplighter.cli.tables import plain, say, say_json
from lamplighter.cli.values import Key

_JOB = click.argument("job", metavar="JOB", type=Id())


@click.command()
@click.argument("target", metavar="JOB|RUN", type=Id())
@asks
def cancel(session: Session, target: str) -> None:
    """Cancel a job and all of its runs, or one run."""
    answer = session.job_or_run(
        target, session.api.delete, lambda path: session.api.post(f"{path}/cancel")
    )
    if session.json:
        say_json(answer.body)
        return
    kind = "Run" if "run_id" in answer.body else "Job"
    say(f"{kind} {target} is {plain(str(answer.body['status']))}.")


@click.command()
@_JOB
@asks
def pause(session: Session, job: str) -> None:
    """Skip a job's fires until it is resumed."""
    _change(session, job, "pause")


@click.command()
@_JOB
@asks
def resume(session: Session, job: str) -> None:
    """Undo a pause; what was skipped stays skipped."""
    _change(session, job, "resume")


@click.command()
@_JOB
@click.option("--key", type=Key(), help="Idempotency-Key: the same one again makes no second run.")
@click.option("--cascade", is_flag=True, help="Also run the jobs that follow it (`after`).")
@asks
def run_now(session: Session, job: str, key: str | None, cascade: bool) -> None:  # noqa: FBT001
    """Run a job now, beside its schedule."""
    body = {"cascade": True} if cascade else None
    answer = session.api.post(f"/jobs/{job}/runNow", body, key=key)
    if session.json:
        say_json(answer.body)
        return
    for run_id in answer.body["run_ids"]:
        say(plain(run_id))


def _change(session: Session, job: str, verb: str) -> None:
    answer = session.api.post(f"/jobs/{job}/{verb}")
    if session.json:
        say_json(answer.body)
    else:
        say(f"Job {job} is {plain(str(answer.body['status']))}.")
