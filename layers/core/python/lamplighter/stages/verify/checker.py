"""Verify: read what the ledger knows, recompute what should be there, and say where they differ."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from lamplighter.domain.ids import epoch_ms, instant_of
from lamplighter.ports.ledger_history import LedgerHistory
from lamplighter.stages.verify import endings, fires, limits, starts, upstreams, waiting
from lamplighter.stages.verify.case import Case, Window
from lamplighter.stages.verify.findings import Verdicts, of_run
from lamplighter.stages.verify.holdings import Holdings
from lamplighter.stages.verify.lateness import Lateness
from lamplighter.stages.verify.reading import Reader
from lamplighter.stages.verify.report import KEPT_FINDINGS, Book, Report

GRACE: Final = timedelta(minutes=5)

OF_A_JOB: Final[tuple[Callable[[Case], Verdicts], ...]] = (
    fires.every_fire_has_a_run,
    fires.no_fire_runs_twice,
    fires.every_run_has_a_fire,
    fires.missed_fires_are_counted,
    fires.schedules_keep_up,
    endings.every_run_ends_one_way,
    endings.one_completion_is_accepted,
    endings.attempts_stay_within_retries,
    endings.times_run_forward,
    endings.skips_have_their_reason,
    starts.no_start_before_its_time,
    starts.no_start_after_the_end,
    starts.no_start_after_cancel,
    starts.no_start_while_paused,
    upstreams.no_start_before_upstreams,
    waiting.nothing_is_stuck,
)
BETWEEN_JOBS: Final[tuple[Callable[[Holdings], Verdicts], ...]] = (
    limits.runs_do_not_overlap,
    limits.limits_are_kept,
    limits.order_is_kept,
)
RULES: Final = [rule.__name__ for rule in (*OF_A_JOB, *BETWEEN_JOBS)]


def verify(
    history: LedgerHistory,
    since: datetime,
    until: datetime,
    *,
    tenant: str | None = None,
    grace: timedelta = GRACE,
) -> Report:
    """Check every fire in [since, until) that is past and whose history is still kept."""
    now, kept_since = history.now(), history.kept_since()
    first, end = (_whole(bound) for bound in (max(since, kept_since), min(until, now)))
    window = Window(first, end, now, kept_since, grace)
    book, holdings, lateness = Book(RULES), Holdings(), Lateness()
    jobs = runs = 0
    for case in Reader(history, window).cases(tenant):
        jobs, runs = jobs + 1, runs + len(case.runs)
        for rule in OF_A_JOB:
            book.enter(rule.__name__, rule(case))
        holdings.add(case)
        lateness.add(case)
    for between in BETWEEN_JOBS:
        book.enter(between.__name__, between(holdings))
    book.enter(fires.every_run_has_a_fire.__name__, _strays(history, window, tenant))
    return Report(
        since=window.since,
        until=window.until,
        now=now,
        jobs=jobs,
        runs=runs,
        rules=list(book.tallies.values()),
        findings=[finding for rule in RULES for finding in book.findings[rule]],
        lateness=lateness.own(),
        excused=lateness.excused(),
    )


def _whole(bound: datetime) -> datetime:
    """As fires and run ids are: else a fire of the last millisecond has no run that is read."""
    return instant_of(epoch_ms(bound))


def _strays(history: LedgerHistory, window: Window, tenant: str | None) -> Verdicts:
    for run in history.strays(tenant, window.since, window.until, KEPT_FINDINGS):
        yield of_run(run, f"its job {run.job_id} is not there")
