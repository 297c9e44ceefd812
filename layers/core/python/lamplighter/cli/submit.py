"""`submit`: a job from flags, or a whole body from a file."""

from typing import Any

import click

from lamplighter.cli.fields import body_of
from lamplighter.cli.flags import JOB, SCHEDULE, flags
from lamplighter.cli.session import Session, asks
from lamplighter.cli.tables import plain, say, say_json
from lamplighter.cli.values import Key, read_body
from lamplighter.cli.waiting import wait_for


@click.command()
@click.option(
    "--file",
    metavar="FILE",
    help="A job as JSON, - for standard input; flags go over it. A list is a batch of jobs, an "
    "object with `jobs` a workflow.",
)
@flags(JOB)
@flags(SCHEDULE)
@click.option(
    "--key", type=Key(), help="Idempotency-Key: the same request again makes no second job."
)
@click.option(
    "--wait", is_flag=True, help="Follow its first run to the end, and print what it printed."
)
@asks
def submit(
    session: Session, file: str | None, key: str | None, *, wait: bool, **given: Any
) -> None:
    """Submit a job.

    \b
      lamplighter submit --name hello --command 'echo hi' --wait
      lamplighter submit --name nightly --cron '0 2 * * *' --timezone Europe/Berlin
      lamplighter submit --name later --python builtin.echo --payload '{"a": 1}' --in 5m
    """  # noqa: D301 - click's own mark, which keeps lines apart, is that character
    body, said = read_body(file), body_of(given)
    path = _path_for(body)
    if said and path != "/jobs":
        raise click.UsageError("Flags set the fields of one job; the file holds several.")
    answer = session.api.post(path, {**body, **said} if path == "/jobs" else body, key)
    ids = _ids(answer.body)
    if wait:
        wait_for(session, ids, deferred=answer.status == _DEFERRED)
    elif session.json:
        say_json(answer.body)
    else:
        for job_id in ids:
            say(plain(job_id))


_DEFERRED = 202  # the ledger is away: the job appears when it is back


def _path_for(body: Any) -> str:
    if isinstance(body, list):
        return "/jobs/batch"
    return "/workflows" if "jobs" in body else "/jobs"


def _ids(answer: dict[str, Any]) -> list[str]:
    if "job_id" in answer:
        return [answer["job_id"]]
    return list(answer["job_ids"] if "job_ids" in answer else answer["jobs"].values())
