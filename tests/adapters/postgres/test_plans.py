"""No query reads a table from end to end, or another day's partition, unless it says why."""

from typing import Any, NamedTuple

import psycopg
import pytest

from tests.adapters.postgres.conftest import NewDatabase
from tests.adapters.postgres.explaining import ExplainingLedger, Plan, all_queries
from tests.adapters.postgres.filled import fill
from tests.adapters.postgres.making import utc_now
from tests.adapters.postgres.touring import LOOKS_BACK, Tour

pytestmark = pytest.mark.xdist_group("plans")  # they share tables that take seconds to fill

# Tables of one row, or of the catalog: they have no better way.
SMALL = {"ledger_bounds", "leases", "pg_inherits", "pg_class"}

# Those that may read more than what they were asked for, and why. All others may not.
READS_WHOLE_TABLE = {
    "api_keys.list": "a person looks at all keys of a tenant, which are few",
    "change.open_runs": "whose runs are with workers, when a job is changed: a row per batch",
    "claim.forget_workers": "the sweep, every few seconds: a row per worker",
    "claim.is_any_running": "who would rest, once a second: a row per batch that runs",
    "horizon.busy_pools": "a metric, every ten seconds: a row per batch that runs",
    "claim.forget_done_claims": "the sweep: a row per batch that runs or has just run",
    "claim.forget_unused_keys": "the sweep: a row per key in use and per place in line",
    "reads.count_runs": "counts everything by name; no stage asks for it",
}
READS_OTHER_DAYS = {
    "change.awaited_runs": "who waits for a coming run may have done so for a week: a probe a day",
    "change.open_runs": "of older days what is awake, by the small index, with a worker or in line",
    "claim.is_any_running": "what runs may be of any day: looked up by its own id",
    "graph.blocked_runs": "a blocked run may have waited for a week: a probe per day since",
    "graph.fires_of_jobs": "a job that fires once may have done so on any day: a probe each",
    "graph.latest_successes": "the newest success may be days old: a probe per day, newest first",
    "graph.upstream_runs": "an upstream that fires once may have done so on any day",
    "horizon.agenda": "the first wake-up call of any day: the head of the small index on wake_at",
    "horizon.blocked": "what waits for others, from any day: the small index on wake_at",
    "horizon.busy_pools": "what runs may be of any day: looked up by its own id",
    "horizon.overdue": "what has waited too long, from any day: the small index on wake_at",
    "horizon.unclaimed": "what nobody claims, from any day: the small index on wake_at",
    "horizon.wake": "wake-up calls of any day: the small index on wake_at",
    "partitions.forget_jobs": "a job leaves when no day has a run of it: a probe per day",
    "partitions.open_in_page": "of a day that is to be retired, page by page by key",
    "slots.first_in_line": "whoever is first in some key's line, looked up by its own id",
    "reads.runs": "a job's history, newest first: a probe per day until the page is full",
    "reads.count_runs": "counts everything by name; no stage asks for it",
}
BY_KEY = {"Index Scan", "Index Only Scan", "Bitmap Heap Scan"}
# An advisory lock: nothing to plan, and explaining it would keep it.
NOT_EXPLAINED = {"partitions.lock_partitions"}


class Explained(NamedTuple):
    plans: list[Plan]
    days: set[str]  # of the tour, and those that it looks back to


@pytest.fixture(scope="module")
def explained(new_database: NewDatabase) -> Explained:
    began = utc_now()
    url = new_database()
    fill(url)
    ledger = ExplainingLedger(url)
    with psycopg.connect(url, autocommit=True) as conn:
        tour = Tour(ledger, conn)
        for stop in (name for name in vars(Tour) if not name.startswith("_")):
            getattr(tour, stop)()
    ledger.close()
    looked_at = (began - LOOKS_BACK, began, utc_now() - LOOKS_BACK, utc_now())
    return Explained(ledger.plans, {f"{at:%Y%m%d}" for at in looked_at})


@pytest.fixture
def plans(explained: Explained) -> list[Plan]:
    return explained.plans


def test_no_query_reads_a_table_from_end_to_end(plans: list[Plan]) -> None:
    found = {plan.query: plan.seq_scans - SMALL for plan in plans if plan.seq_scans - SMALL}
    assert {
        query: tables for query, tables in found.items() if query not in READS_WHOLE_TABLE
    } == {}


def test_no_query_touches_a_day_that_it_was_not_asked_for(explained: Explained) -> None:
    plans, days = explained
    found = {plan.query: plan.days - days for plan in plans if plan.days - days}
    assert {query: days for query, days in found.items() if query not in READS_OTHER_DAYS} == {}


def test_every_query_was_explained(plans: list[Plan]) -> None:
    assert set(all_queries().values()) - {plan.query for plan in plans} == NOT_EXPLAINED


def test_no_excuse_is_left_over(explained: Explained) -> None:
    """A query that has learned better does not keep its excuse."""
    plans, days = explained
    by_scan = {plan.query for plan in plans if plan.seq_scans - SMALL}
    by_day = {plan.query for plan in plans if plan.days - days}
    assert set(READS_WHOLE_TABLE) - by_scan == set()
    assert set(READS_OTHER_DAYS) - by_day == set()


def test_the_hot_queries_touch_only_rows_that_they_were_asked_for(plans: list[Plan]) -> None:
    """By their keys: the plan of each, spelled out."""
    hot: dict[str, Any] = {
        "claim.claim_plain": {"job_runs", "jobs", "cancellations"},
        "finish.finish_plain": {"job_runs"},
        "horizon.page": {"job_runs"},
        "horizon.due_schedules": {"schedules", "jobs"},
    }
    for query, tables in hot.items():
        nodes = {node for plan in plans if plan.query == query for node in plan.nodes}
        assert {node.kind for node in nodes} <= BY_KEY
        assert {"job_runs" if node.day else node.table for node in nodes} <= tables
