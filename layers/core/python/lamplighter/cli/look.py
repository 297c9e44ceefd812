"""`list`, `show`, `runs`, `explain`: what there is, and why."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from lamplighter.cli.flags import words
from lamplighter.cli.session import Id, Session, asks
from lamplighter.cli.showing import JOB_HEADS, RUN_HEADS, job_facts, job_row, run_facts, run_row
from lamplighter.cli.tables import facts, plain, say, say_json, table
from lamplighter.cli.values import Instant, as_rfc3339
from lamplighter.domain.policy import ScheduleType

F = TypeVar("F", bound=Callable[..., Any])


def _paged(command: F) -> F:
    for option in (
        click.option("--all", "every", is_flag=True, help="All pages, not just the first."),
        click.option("--cursor", metavar="CURSOR", help="The page that begins here."),
        click.option("--limit", type=click.IntRange(1, 500), help="Entries of a page; 100."),
    ):
        command = option(command)
    return command


@click.command("list")
@click.option("--status", help="SCHEDULED, PAUSED, CANCELLED or REJECTED.")
@click.option("--type", "schedule_type", type=words(ScheduleType), help="A kind of schedule.")
@click.option("--pool", help="Those of this pool.")
@click.option("--tag", help="Those with this tag.")
@click.option("--name", help="Those with this in their name.")
@_paged
@asks
def list_jobs(session: Session, *, every: bool, **query: Any) -> None:
    """List jobs, newest first but for those with a key."""
    page = _pages(session, "/jobs", "jobs", query, every=every)
    if session.json:
        say_json(page)
    elif page["jobs"]:
        table(JOB_HEADS, [job_row(session, job) for job in page["jobs"]])
    else:
        say(
            "There are no such jobs." if any(query.values()) else "There are no jobs yet.", err=True
        )
    _hint(session, page)


@click.command()
@click.argument("job", metavar="[JOB]", type=Id(), required=False)
@click.option("--status", help="A run's status; QUEUED is due and not yet claimed.")
@click.option("--pool", help="Those in this pool.")
@click.option("--origin", help="schedule, now:<key> or backfill:<id>.")
@click.option("--since", type=Instant(), help="Fires from this time on.")
@click.option("--until", type=Instant(), help="Fires before this time.")
@_paged
@asks
def runs(session: Session, job: str | None, *, every: bool, **query: Any) -> None:
    """List runs, latest fire first; of one job, or of all."""
    for name in ("since", "until"):
        if query[name] is not None:
            query[name] = as_rfc3339(query[name], None)
    page = _pages(session, "/runs", "runs", {"job_id": job, **query}, every=every)
    if job and not page["runs"]:
        session.api.get(f"/jobs/{job}")  # says so, where there is no such job
    if session.json:
        say_json(page)
    elif page["runs"]:
        table(RUN_HEADS, [run_row(session, run) for run in page["runs"]])
    else:
        say("There are no such runs.", err=True)
    _hint(session, page)


@click.command()
@click.argument("target", metavar="JOB|RUN", type=Id())
@asks
def show(session: Session, target: str) -> None:
    """Show a job whole, with its latest run; or a run."""
    found = session.job_or_run(target, session.api.get, session.api.get).body
    is_run = "run_id" in found
    latest = None if is_run else session.api.get(f"/jobs/{target}/status").body["latest_run"]
    if session.json:
        say_json(found if is_run else {**found, "latest_run": latest})
    elif is_run:
        facts(run_facts(session, found))
    else:
        facts(job_facts(session, found))
        say()
        say("Its latest run:" if latest else "It has no run yet.")
        facts(run_facts(session, latest or {}))


@click.command()
@click.argument("target", metavar="JOB|RUN", type=Id())
@asks
def explain(session: Session, target: str) -> None:
    """Say in one sentence why a job or run has not run, will not run, or ran late."""

    def ask(path: str) -> Any:
        return session.api.get(f"{path}/explain")

    answer = session.job_or_run(target, ask, ask)
    if session.json:
        say_json(answer.body)
    else:
        say(plain(answer.body["explanation"]))


def _pages(
    session: Session, path: str, name: str, query: dict[str, Any], *, every: bool
) -> dict[str, Any]:
    if not every:
        page: dict[str, Any] = session.api.get(path, **query).body
        return page
    items = [item for page in session.api.pages(path, **query) for item in page[name]]
    return {name: items, "next_cursor": None}


def _hint(session: Session, page: dict[str, Any]) -> None:
    if page["next_cursor"] and not session.json:
        say(f"There are more: --all, or --cursor {plain(page['next_cursor'])}", err=True)
