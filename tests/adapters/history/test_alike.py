"""The history of both ledgers: after the same life, the same answers but for what clocks decide."""

from collections.abc import Callable, Iterator
from datetime import date, timedelta
from typing import Any
from uuid import UUID, uuid4

import msgspec
import psycopg
import pytest

from infra.local.postgres import Postgres
from lamplighter.adapters.memory.history import MemoryHistory
from lamplighter.adapters.memory.ledger import MemoryLedger
from lamplighter.adapters.postgres.database import Database
from lamplighter.adapters.postgres.history import PostgresHistory
from lamplighter.adapters.postgres.ledger import PostgresLedger
from lamplighter.adapters.postgres.migrate import migrate
from lamplighter.domain.ids import BY_SCHEDULE, epoch_ms, instant_of, run_id
from lamplighter.domain.job import Policy
from lamplighter.domain.policy import Backoff, Overlap
from lamplighter.domain.run import Run, Submission, Verdict
from lamplighter.domain.schedule import Calendar
from lamplighter.domain.states import SkipReason
from lamplighter.ports.ledger import Ledger, Missed
from lamplighter.ports.ledger_history import FIRST_ID, HistoryReader, LedgerHistory
from lamplighter.stages.verify import verify
from tests.adapters.ledger.builders import HOUR, OTHER_TENANT, TENANT, following, hourly, one_off
from tests.adapters.ledger.play import ANY_SILENCE, Play

DAY = timedelta(days=1)
STEADY = Policy(backoff=Backoff(jitter=False))


class Told:
    """A ledger, and how its history is read."""

    def __init__(self, ledger: Ledger, history: HistoryReader, url: str | None = None) -> None:
        self.ledger, self.history, self.url = ledger, history, url


@pytest.fixture(scope="module")
def both(postgres_server: Postgres) -> Iterator[list[Told]]:
    url = postgres_server.ensure_database("history")
    migrate(url, days_ahead=2)
    memory, postgres, database = MemoryLedger(), PostgresLedger(url), Database(url)
    told = [
        Told(memory, MemoryHistory(memory)),
        Told(postgres, PostgresHistory(database), url),
    ]
    life = Life(memory)
    for each in told:
        life.play(each.ledger)
    yield told
    postgres.close()
    database.close()


class Life:
    """The same jobs, in the same order, for every ledger."""

    def __init__(self, ledger: Ledger) -> None:
        now = instant_of(epoch_ms(ledger.now()))
        self.fire = now - timedelta(seconds=10)
        self.plain = one_off(self.fire, policy=STEADY, payload={"a": 1})
        self.lost = one_off(self.fire + timedelta(milliseconds=1), policy=STEADY)
        self.foreign = one_off(self.fire, tenant=OTHER_TENANT)
        self.hourly = hourly(now - timedelta(seconds=5), overlap=Overlap.FORBID)
        self.missed = hourly(self.fire - 5 * HOUR)
        self.follower = following(self.plain)
        self.limited = [
            one_off(self.fire + timedelta(milliseconds=n), concurrency_key="k", max_concurrency=1)
            for n in (2, 3)
        ]
        self.ordered = one_off(self.fire, ordering_key="o")
        self.all = (
            self.plain, self.lost, self.foreign, self.hourly, self.follower, *self.limited,
            self.ordered,
        )  # fmt: skip

    def play(self, ledger: Ledger) -> None:
        play = Play(ledger)
        ledger.ensure_partitions(self.fire - DAY, self.fire + DAY)
        play.submit(*self.all, self.missed)
        self._work(play)
        self._change(play)

    def _work(self, play: Play) -> None:
        first = play.start(play.only_run(self.plain))
        play.end(first, Verdict.FAILED, error="no")
        again = play.start(play.only_run(self.plain))
        play.end(again)
        play.start(play.only_run(self.lost), worker="mortal")
        play.ledger.requeue_lost(ANY_SILENCE)
        play.start(play.only_run(self.limited[0]))
        play.claim(play.only_run(self.limited[1]))
        lease = play.lease()
        gap = Missed(self.fire - 4 * HOUR, self.fire - HOUR, 4, SkipReason.MISSED_WINDOW)
        planned = play.planned(self.missed, [], missed=(gap,), next_fire_at=self.fire + 9 * HOUR)
        play.ledger.plan(lease, [planned])

    def _change(self, play: Play) -> None:
        play.ledger.pause(TENANT, self.hourly.job.job_id)
        play.ledger.resume(TENANT, self.hourly.job.job_id)
        play.ledger.save_calendar(TENANT, Calendar("one", dates=(date(2026, 1, 1),)))
        for _ in range(2):
            play.ledger.save_calendar(TENANT, Calendar("two", dates=(date(2026, 1, 1),)))


def _ask(both: list[Told], question: Callable[[LedgerHistory], Any]) -> Any:
    """The answer that both give."""
    in_memory, in_postgres = (each.history.read(question) for each in both)
    assert in_memory == in_postgres
    return in_memory


def _jobs(history: LedgerHistory) -> list[UUID]:
    return [life.versions[-1].job_id for life in history.lives(None, FIRST_ID, 100)]


def _seen(run: Run) -> tuple[Any, ...]:
    return (
        run.run_id, run.job_id, run.tenant, run.pool, run.origin, run.state, run.fire_at,
        run.fence, run.attempt_number, run.losses, run.excused, run.reason, run.missed_to,
        run.missed_count, run.start_time is None, run.end_time is None, run.wake_at is None,
        run.result, run.stdout, run.stderr,
    )  # fmt: skip


def _runs(history: LedgerHistory) -> list[Run]:
    return history.runs_of(_jobs(history), history.now() - DAY, history.now() + DAY)


def test_lives_come_in_pages_with_all_their_versions(both: list[Told]) -> None:
    def lives(history: LedgerHistory) -> Any:
        page = history.lives(None, FIRST_ID, 4)
        rest = history.lives(None, page[-1].versions[-1].job_id, 100)
        return [
            (
                [
                    (job.job_id, job.version, job.status, job.payload, job.after)
                    for job in each.versions
                ],
                each.next_fire_at,
            )
            for each in page + rest
        ]

    found = _ask(both, lives)

    assert sorted(len(versions) for versions, _ in found) == [1, 1, 1, 1, 1, 1, 1, 1, 3]
    assert found == sorted(found, key=lambda life: life[0][0][0])


def test_lives_of_one_tenant_and_by_name(both: list[Told]) -> None:
    def asked(history: LedgerHistory) -> Any:
        own = history.lives(OTHER_TENANT, FIRST_ID, 100)
        named = history.lives_of([own[0].versions[-1].job_id, uuid4()])
        return [each.versions[-1].job_id for each in own + named]

    one, same = _ask(both, asked)

    assert one == same


def test_versions_hold_from_their_times_on(both: list[Told]) -> None:
    def times(history: LedgerHistory) -> list[bool]:
        [life] = [each for each in history.lives(None, FIRST_ID, 100) if len(each.versions) > 1]
        since = [version.updated_at for version in life.versions]
        assert None not in since
        return [since == sorted(since, key=str), since[0] == life.versions[0].created_at]

    assert _ask(both, times) == [True, True]


def test_runs_and_attempts(both: list[Told]) -> None:
    runs = _ask(both, lambda history: [_seen(run) for run in _runs(history)])
    attempts = _ask(
        both,
        lambda history: [
            (each.run_id, each.fence, each.attempt_number, each.verdict, each.error_message)
            for each in history.attempts_of([run.run_id for run in _runs(history)])
        ],
    )

    assert len(runs) == 10
    assert sorted(each[3] for each in attempts) == ["failed", "lost"]


def test_rows_of_missed_fires_that_reach_a_moment(both: list[Told]) -> None:
    def rows(history: LedgerHistory) -> Any:
        [row] = [run for run in _runs(history) if run.missed_to is not None]
        assert row.missed_to is not None
        return [
            [_seen(run) for run in history.missed_before(row.job_id, moment)]
            for moment in (row.fire_at, row.fire_at + HOUR, row.missed_to + HOUR)
        ]

    before, within, after = _ask(both, rows)

    assert (before, len(within), after) == ([], 1, [])


def test_who_is_ahead_in_line(both: list[Told]) -> None:
    keys = [f"limit:{TENANT}:key:k", f"order:{TENANT}:o", "limit:nobody"]

    ahead = _ask(both, lambda history: history.ahead_in(keys))

    assert {key: len(runs) for key, runs in ahead.items()} == {keys[0]: 1, keys[1]: 1}


def test_calendars_and_whether_they_were_ever_others(both: list[Told]) -> None:
    known = _ask(
        both,
        lambda history: [
            (each.calendar, each.holds_from is None) for each in history.calendars(TENANT)
        ],
    )

    assert [(each.name, each.version, always) for each, always in known] == [
        ("one", 1, True),
        ("two", 2, False),
    ]


def test_what_else_is_known(both: list[Told]) -> None:
    beats = _ask(both, lambda history: sorted(history.heartbeats()))
    kept = _ask(both, lambda history: history.kept_since() <= history.now() - timedelta(hours=1))
    strays = _ask(both, lambda history: history.strays(None, history.now() - DAY, history.now(), 9))

    assert beats == ["mortal", "w1"]
    assert kept
    assert strays == []


def test_a_run_without_its_job_is_a_stray(both: list[Told]) -> None:
    ghost = Submission(one_off(both[0].ledger.now() - timedelta(seconds=1)).job)
    fire = instant_of(epoch_ms(both[0].ledger.now())) - timedelta(seconds=1)
    stray = run_id(ghost.job.job_id, fire, "default", BY_SCHEDULE)
    for each in both:
        own = one_off(fire)
        each.ledger.submit(
            [
                msgspec.structs.replace(
                    own, job=msgspec.structs.replace(own.job, job_id=ghost.job.job_id)
                )
            ]
        )
    del both[0].ledger._books.jobs[ghost.job.job_id]  # type: ignore[attr-defined]
    assert both[1].url is not None
    with psycopg.connect(both[1].url) as conn:
        conn.execute("DELETE FROM jobs WHERE job_id = %s", [ghost.job.job_id])

    found = _ask(
        both,
        lambda history: [
            run.run_id for run in history.strays(None, history.now() - DAY, history.now(), 9)
        ],
    )

    assert found == [stray]
    with psycopg.connect(both[1].url) as conn:
        conn.execute("DELETE FROM job_runs WHERE run_id = %s", [stray])
    del both[0].ledger._books.runs[stray]  # type: ignore[attr-defined]


def test_the_checker_says_the_same_of_both(both: list[Told]) -> None:
    def report(history: LedgerHistory) -> Any:
        since = history.now() - timedelta(hours=1)
        made = verify(history, since, history.now(), grace=HOUR)
        return made.jobs, made.runs, [(each.rule, each.checked, each.found) for each in made.rules]

    jobs, runs, rules = _ask(both, report)

    assert (jobs, runs) == (9, 8)
    assert sum(found for _, _, found in rules) == 0
