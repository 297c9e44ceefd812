"""What the desk does beside its work: tells, stops, remembers, and says how its parts are."""

from collections.abc import Collection
from datetime import timedelta
from uuid import UUID

import msgspec
import pytest

from lamplighter.adapters.memory.cache import MemoryCache
from lamplighter.adapters.memory.listing import MemoryQueryLedger
from lamplighter.contracts.messages import JobEvent, JobEventType, running, stood
from lamplighter.domain.errors import LedgerUnavailable
from lamplighter.domain.job import Job
from lamplighter.domain.policy import JobClass
from lamplighter.domain.run import Ticket, Verdict
from lamplighter.domain.states import RunState
from lamplighter.ports.queue import Counts, Depth, QueueUnavailable
from lamplighter.ports.rollups import Rollup
from lamplighter.stages.aftermath import Aftermath, Folded, seen
from lamplighter.stages.alert import Alarm
from lamplighter.stages.mishaps import Mishaps
from tests.functions.world import NOON, World
from tests.stages.recording import FragileBus


class Shop(World):
    def __init__(self) -> None:
        super().__init__()
        self.news: list[JobEvent] = []
        self.cache = MemoryCache(self.clock)
        self.desk = msgspec.structs.replace(
            self.desk,
            announce=self.news.extend,
            stop_running=self._stop,
            cache=self.cache,
        )

    def _stop(self, run_ids: Collection[UUID]) -> None:
        self.cache.flag_cancelled(run_ids, timedelta(hours=1))

    def told(self) -> list[tuple[JobEventType, str]]:
        return [(each.event_type, str(each.job_id)) for each in self.news]

    def remember(self, event: JobEvent) -> None:
        """As the recorder does."""
        mishaps = Mishaps(self.ledger, Alarm([]))
        aftermath = Aftermath(self.ledger, FragileBus(), self.cache, mishaps, None)
        aftermath.follow(Folded([seen(event, None)]))

    def start(self, run_id: UUID) -> JobEvent:
        [claimed] = self.ledger.claim("w1", UUID(int=7), [Ticket(run_id, 0)]).claimed
        return running(claimed, "w1", self.clock())


@pytest.fixture
def shop() -> Shop:
    return Shop()


def _take_ledger_away(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object) -> None:
        raise LedgerUnavailable("away")

    for name in ("job", "now", "list_runs"):
        monkeypatch.setattr(MemoryQueryLedger, name, away)


def test_a_submission_is_told_once_and_its_repetition_is_not(shop: Shop) -> None:
    made = {
        shop.call("POST", "/jobs", {"name": "a"}, headers={"Idempotency-Key": "k"}).body["job_id"]
        for _ in range(2)
    }
    [job_id] = made
    assert shop.told() == [(JobEventType.SUBMITTED, job_id), (JobEventType.SCHEDULED, job_id)]
    assert [each.due_at for each in shop.news] == [NOON, NOON]
    assert shop.news[1].run_id == shop.hinted[0].run_id


def test_of_a_batch_every_first_run_is_told_as_scheduled(shop: Shop) -> None:
    jobs = [{"name": "a"}, {"name": "b", "fan_out": ["eu", "us"]}, {"name": "c", "after": []}]
    shop.call("POST", "/jobs/batch", {"jobs": jobs})

    scheduled = [each for each in shop.news if each.event_type is JobEventType.SCHEDULED]
    assert [(each.run_id, each.pool) for each in scheduled] == [
        (due.run_id, due.pool) for due in shop.hinted
    ]
    assert len(scheduled) == 4


def test_a_run_that_waits_for_others_is_told_as_scheduled_only_when_it_is_free(
    shop: Shop,
) -> None:
    first = shop.call.submit()
    shop.news.clear()
    waiting = shop.call.submit(after=[first])
    assert shop.told() == [(JobEventType.SUBMITTED, waiting)]

    [due] = shop.hinted
    shop.finish(due.run_id, shop.claim(due.run_id))
    shop.news.clear()
    free = shop.call.submit(after=[first])
    assert shop.told() == [(JobEventType.SUBMITTED, free), (JobEventType.SCHEDULED, free)]


def test_a_job_whose_upstream_has_failed_is_told_as_skipped_at_once(shop: Shop) -> None:
    first = shop.call.submit(max_retries=0)
    [due] = shop.hinted
    shop.finish(due.run_id, shop.claim(due.run_id), Verdict.FAILED)
    shop.news.clear()

    job_id = shop.call.submit(after=[first])

    assert shop.told() == [(JobEventType.SUBMITTED, job_id), (JobEventType.SKIPPED, job_id)]


def test_an_edited_schedule_is_told_as_the_run_that_it_leads_to(shop: Shop) -> None:
    job_id = shop.call.submit(cron_expression="0 * * * *")
    shop.news.clear()

    shop.call("PUT", f"/jobs/{job_id}", {"cron_expression": "0 0 * * *"})

    [news] = shop.news
    assert (news.event_type, str(news.job_id)) == (JobEventType.SCHEDULED, job_id)
    assert news.due_at == NOON + timedelta(hours=12)


def test_a_cancelled_run_is_told_and_a_running_one_is_flagged(shop: Shop) -> None:
    waiting, busy = shop.call.submit(), shop.call.submit()
    first, second = (due.run_id for due in shop.hinted)
    shop.start(second)
    shop.news.clear()

    for run_id in (first, second):
        shop.call("POST", f"/runs/{run_id}/cancel")

    assert shop.told() == [(JobEventType.CANCELLED, waiting)]
    assert shop.cache.cancelled([first, second]) == {second}
    assert busy != waiting


def test_deleting_a_job_tells_of_its_runs_and_stops_what_is_running(shop: Shop) -> None:
    job_id = shop.call.submit()
    [due] = shop.hinted
    shop.start(due.run_id)
    shop.wind(seconds=1)
    [waiting] = shop.call("POST", f"/jobs/{job_id}/runNow").body["run_ids"]
    shop.news.clear()

    for _ in range(2):
        shop.call("DELETE", f"/jobs/{job_id}")

    assert [(each.event_type, str(each.run_id)) for each in shop.news] == [
        (JobEventType.CANCELLED, waiting)
    ]
    assert shop.cache.cancelled([due.run_id]) == {due.run_id}


def test_runs_beside_the_schedule_are_told_as_scheduled(shop: Shop) -> None:
    job_id = shop.call.submit(cron_expression="0 * * * *")
    shop.news.clear()

    now = shop.call("POST", f"/jobs/{job_id}/runNow").body["run_ids"]
    start = (NOON - timedelta(hours=2, minutes=1)).isoformat()
    made = shop.call("POST", f"/jobs/{job_id}/backfill", {"start": start}).body["run_ids"]

    assert {each.event_type for each in shop.news} == {JobEventType.SCHEDULED}
    assert [str(each.run_id) for each in shop.news] == [*now, *made]
    assert {each.status for each in shop.news} == {"SCHEDULED"}


def test_runs_that_ended_a_moment_before_the_word_of_their_job_are_told(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = shop.call.submit()
    shop.news.clear()
    cancel_job = shop.ledger.cancel_job

    def slowly(tenant: str, job_id: UUID) -> Job:
        """As where the job's own row is written last."""
        job = cancel_job(tenant, job_id)
        return msgspec.structs.replace(job, updated_at=shop.clock() + timedelta(seconds=1))

    monkeypatch.setattr(shop.ledger, "cancel_job", slowly)
    shop.call("DELETE", f"/jobs/{job_id}")

    assert shop.told() == [(JobEventType.CANCELLED, job_id)]


def test_a_cancel_stands_although_nobody_can_be_told(shop: Shop) -> None:
    def away(_: object) -> None:
        raise QueueUnavailable("away")

    shop.desk = msgspec.structs.replace(shop.desk, stop_running=away)
    shop.call.submit()
    [due] = shop.hinted
    shop.start(due.run_id)
    answer = shop.call("POST", f"/runs/{due.run_id}/cancel")
    assert (answer.status, answer.body["status"]) == (200, "CANCELLING")


def test_a_status_is_known_without_the_ledger_and_marked_stale(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = shop.call.submit()
    [due] = shop.hinted
    shop.remember(shop.start(due.run_id))
    whole = shop.call("GET", f"/jobs/{job_id}/status").body
    _take_ledger_away(monkeypatch)

    stale = shop.call("GET", f"/jobs/{job_id}/status")

    assert (stale.status, stale.body["stale"], stale.body["status"]) == (200, True, None)
    shown = stale.body["latest_run"]
    assert shown.items() <= whole["latest_run"].items()
    assert (shown["status"], shown["run_id"]) == ("RUNNING", str(due.run_id))


def test_with_the_ledger_a_status_is_never_stale(shop: Shop) -> None:
    job_id = shop.call.submit()
    [due] = shop.hinted
    shop.remember(shop.start(due.run_id))
    shop.finish(due.run_id, 1)
    status = shop.call("GET", f"/jobs/{job_id}/status").body
    assert ("stale" in status, status["latest_run"]["status"]) == (False, "SUCCESS")


def test_without_ledger_and_memory_a_status_is_unavailable(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = shop.call.submit()
    _take_ledger_away(monkeypatch)
    assert shop.call("GET", f"/jobs/{job_id}/status").status == 503
    shop.desk = msgspec.structs.replace(shop.desk, cache=None)
    assert shop.call("GET", f"/jobs/{job_id}/status").status == 503


def test_another_tenants_status_is_not_shown(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    job_id = shop.call.submit()
    [due] = shop.hinted
    event = msgspec.structs.replace(shop.start(due.run_id), tenant="another")
    shop.remember(event)
    _take_ledger_away(monkeypatch)
    assert shop.call("GET", f"/jobs/{job_id}/status").status == 503


def test_a_run_that_waits_is_news_only_in_some_states(shop: Shop) -> None:
    shop.call.submit()
    [due] = shop.hinted
    run = shop.ledger.run("default", due.run_id)
    for state, news in ((RunState.SCHEDULED, True), (RunState.PARKED, False)):
        assert (stood(msgspec.structs.replace(run, state=state)) is not None) is news


class Line:
    """A queue in which some stand."""

    def next_due(self) -> None:
        return None

    def counts(self) -> Counts:
        raise QueueUnavailable("away")

    def depth(self, _: object) -> list[Depth]:
        return [
            Depth("eu", JobClass.P1, "acme", 3),
            Depth("eu", JobClass.P1, "umbrella", 4),
            Depth("eu", JobClass.P4, "acme", 1),
        ]


class ClosedLine(Line):
    def depth(self, _: object) -> list[Depth]:
        raise QueueUnavailable("away")


def test_metrics_tell_how_many_wait_and_how_the_last_hour_went(shop: Shop) -> None:
    shop.desk = msgspec.structs.replace(shop.desk, queue=Line())
    state, minute = RunState.FAILED, NOON - timedelta(minutes=1)
    shop.ledger.add_minutes([Rollup(minute, "default", "eu", JobClass.P2, state, 2, 3000, 9, 5)])

    text = shop.call("GET", "/metrics").body

    assert 'lamplighter_queue_depth{class="P1",pool="eu"} 7\n' in text
    assert 'lamplighter_queue_depth{class="P4",pool="eu"} 1\n' in text
    labels = 'class="P2",pool="eu",status="FAILED"'
    assert f"lamplighter_runs_last_hour{{{labels}}} 2\n" in text
    assert f"lamplighter_run_seconds_last_hour{{{labels}}} 3\n" in text


def test_metrics_come_without_the_queue(shop: Shop) -> None:
    shop.desk = msgspec.structs.replace(shop.desk, queue=ClosedLine())
    answer = shop.call("GET", "/metrics")
    assert (answer.status, "queue_depth" in answer.body) == (200, False)


def test_readiness_says_which_part_is_away(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    probes = {"queue": Line().counts, "bus": lambda: None}
    shop.desk = msgspec.structs.replace(shop.desk, probes=probes)

    ready = shop.call("GET", "/readyz")

    checks = {"ledger": "ok", "queue": "unavailable", "bus": "ok"}
    assert (ready.status, ready.body) == (200, {"status": "ready", "checks": checks})
    _take_ledger_away(monkeypatch)
    assert shop.call("GET", "/readyz").status == 503
