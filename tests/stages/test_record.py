"""Record: the truth first, then whoever waits for it, then all the favours."""

from collections.abc import Sequence
from datetime import timedelta

import msgspec
import pytest

from lamplighter.adapters.memory.listing import MemoryQueryLedger
from lamplighter.contracts.dead_letters import read_dead_letter
from lamplighter.contracts.messages import (
    JobEvent,
    JobEventType,
    WorkerEvent,
    WorkerEventType,
    encode,
)
from lamplighter.contracts.statuses import cached_answer
from lamplighter.contracts.topics import (
    DEAD_LETTERS,
    DEPENDENCY_EVENTS,
    JOB_EVENTS,
    WORKER_EVENTS,
)
from lamplighter.domain.errors import LedgerUnavailable
from lamplighter.domain.job import Policy
from lamplighter.domain.policy import Backoff, JobClass
from lamplighter.domain.run import Outcome, Settled, Verdict
from lamplighter.domain.states import RunState
from lamplighter.ports.bus import Message, Record, UnknownTopic
from lamplighter.ports.queue import QueueUnavailable
from lamplighter.stages import record
from lamplighter.stages.aftermath import Folded
from lamplighter.stages.alert import Alarm
from lamplighter.stages.mishaps import Mishaps
from lamplighter.stages.news import settled_news
from lamplighter.stages.record import Recorder
from tests.stages.recording import NOON, TENANT, Office


@pytest.fixture
def office() -> Office:
    return Office()


def _away(*_: object) -> None:
    raise LedgerUnavailable("away")


def _status(office: Office, event: JobEvent) -> str | None:
    known = office.cache.job_statuses([event.job_id])
    answer = cached_answer(TENANT, event.job_id, known.get(event.job_id, b""))
    return None if answer is None else str(answer["status"])


def _record(value: bytes, topic: str = JOB_EVENTS.name, offset: int = 0) -> Record:
    return Record(topic, 0, offset, None, value, 0)


def _bundle(*events: JobEvent, offset: int = 0) -> Record:
    return _record(b"[%b]" % b",".join(map(encode, events)), offset=offset)


def test_an_outcome_is_written_counted_and_told_to_dependents(office: Office) -> None:
    job = office.submit(priority=1, pool="eu")
    office.after(job)
    started = office.start(job)

    office.recorder.record([started, office.end(started)])

    assert office.run(job).state is RunState.SUCCESS
    assert office.endings() == [started.run_id]
    [line] = office.minutes()
    assert (line.minute, line.pool, line.job_class) == (NOON, "eu", JobClass.P1)
    assert (line.state, line.runs, line.duration_ms) == (RunState.SUCCESS, 1, 2000)
    assert (line.lateness_ms, line.max_lateness_ms) == (500, 500)


def test_an_outcome_that_comes_twice_counts_once_and_is_told_again(office: Office) -> None:
    job = office.submit()
    office.after(job)
    started = office.start(job)
    event = office.end(started)

    office.recorder.record([event])
    office.recorder.record([event, event])

    assert [line.runs for line in office.minutes()] == [1]
    assert office.endings() == [started.run_id, started.run_id]


def test_nobody_is_told_of_an_end_that_nobody_waits_for(office: Office) -> None:
    alone, awaited = office.submit(), office.submit()
    office.after(awaited)
    endings = [office.end(office.start(job)) for job in (alone, awaited)]

    office.recorder.record(endings)

    assert office.run(alone).state is RunState.SUCCESS
    assert office.endings() == [endings[1].run_id]


def test_an_outcome_of_an_older_claim_changes_counts_and_tells_nothing(office: Office) -> None:
    job = office.submit()
    lost = office.start(job)
    office.ledger.requeue_lost(timedelta(seconds=-60))
    again = office.start(job)
    office.recorder.record([again])

    office.recorder.record([office.end(lost, Verdict.FAILED)])

    assert office.run(job).state is RunState.RUNNING
    assert (office.minutes(), office.endings()) == ([], [])
    assert _status(office, again) == "RUNNING"


def test_a_failure_that_is_tried_again_is_told_as_retrying_and_not_counted(office: Office) -> None:
    backoff = Backoff(base_seconds=8, jitter=False)
    started = office.start(office.submit(max_retries=1, policy=Policy(backoff=backoff)))

    office.recorder.record([office.end(started, Verdict.FAILED, "boom")])

    [news] = office.news()
    assert (news.event_type, news.status, news.error) == (JobEventType.RETRYING, "RETRYING", "boom")
    assert news.outcome is None
    assert news.wake_at == office.clock() + timedelta(seconds=8)
    assert (office.minutes(), office.endings()) == ([], [])
    assert _status(office, started) == "RETRYING"


def test_the_recorders_own_news_makes_no_more_news(office: Office) -> None:
    started = office.start(office.submit(max_retries=1))
    office.recorder.record([office.end(started, Verdict.FAILED, "boom")])

    office.recorder.record(office.news())

    assert office.news() == []
    assert office.minutes() == []


def test_a_retry_counts_as_one_run_and_its_second_attempt_is_not_late(office: Office) -> None:
    job = office.submit(max_retries=1)
    office.recorder.record([office.end(office.start(job), Verdict.FAILED)])
    office.clock.wind(timedelta(hours=1))

    office.recorder.record([office.end(office.start(job))])

    [line] = office.minutes()
    assert (line.runs, line.lateness_ms) == (1, 0)


def test_a_status_that_comes_late_never_undoes_a_later_one(office: Office) -> None:
    started = office.start(office.submit())
    office.recorder.record([office.end(started)])
    office.recorder.record([started])
    assert _status(office, started) == "SUCCESS"


def test_the_cache_shows_a_run_as_the_ledger_would(office: Office) -> None:
    started = office.start(office.submit())
    office.recorder.record([started, office.end(started, Verdict.FAILED, "boom")])

    body = office.cache.job_statuses([started.job_id])[started.job_id]

    assert cached_answer(TENANT, started.job_id, body) == {
        "run_id": str(started.run_id),
        "job_id": str(started.job_id),
        "status": "FAILED",
        "fire_at": "2030-01-01T12:00:00.000Z",
        "due_at": "2030-01-01T12:00:00.000Z",
        "start_time": "2030-01-01T12:00:00.500Z",
        "end_time": "2030-01-01T12:00:02.500Z",
        "modified_time": "2030-01-01T12:00:02.500Z",
        "attempt_number": 1,
        "executor_id": "w1",
        "pool": "default",
        "priority": 5,
        "error_message": "boom",
    }
    assert cached_answer("another", started.job_id, body) is None


def test_a_critical_job_that_failed_wakes_somebody_once(office: Office) -> None:
    started = office.start(office.submit(policy=Policy(critical=True)))
    event = office.end(started, Verdict.TIMED_OUT, "took too long")

    office.recorder.record([event])
    office.recorder.record([event])

    [alert] = office.woken.alerts
    assert (alert.job_name, alert.status, alert.error) == ("nightly", "TIMED_OUT", "took too long")
    assert alert.dedup_key == f"{started.job_id}:{started.run_id}"


def _failing(office: Office) -> JobEvent:
    job = office.submit(policy=Policy(critical=True))
    office.after(job)
    return office.end(office.start(job), Verdict.FAILED, "boom")


@pytest.mark.parametrize("call", ["awaited", "critical_jobs"])
def test_an_alert_outlives_a_ledger_that_leaves_after_the_commit(
    office: Office, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    records = [_bundle(_failing(office))]
    with monkeypatch.context() as gone:
        gone.setattr(office.ledger, call, _away)
        assert office.recorder.handle(records) == records
    assert (office.ledger.count_runs(RunState.FAILED), office.woken.alerts) == (1, [])

    assert office.recorder.handle(records) == []

    assert [alert.error for alert in office.woken.alerts] == ["boom"]


def test_an_alert_outlives_the_process_that_recorded_the_end(office: Office) -> None:
    event = _failing(office)
    assert event.outcome is not None
    office.ledger.finish([event.outcome])  # all that the other one came to do

    office.recorder.record([event])

    assert len(office.woken.alerts) == 1
    assert office.minutes() == []  # nobody knows whether it was counted


def test_only_so_many_alerts_are_remembered(office: Office) -> None:
    mishaps = Mishaps(office.ledger, Alarm([office.woken]), remembered=2)
    events = [(_failing(office), RunState.FAILED) for _ in range(3)]

    for event in events:
        mishaps.alert(mishaps.among([event]))
    for event in (events[2], events[0]):
        mishaps.alert(mishaps.among([event]))

    told = [alert.run_id for alert in office.woken.alerts]
    assert told == [event.run_id for event, _ in (*events, events[0])]


@pytest.mark.parametrize(
    ("critical", "verdict"),
    [(False, Verdict.FAILED), (True, Verdict.SUCCESS), (True, Verdict.CANCELLED)],
)
def test_nobody_is_woken_for_less(office: Office, critical: bool, verdict: Verdict) -> None:
    started = office.start(office.submit(policy=Policy(critical=critical)))
    office.recorder.record([office.end(started, verdict)])
    assert office.woken.alerts == []


def test_nobody_is_woken_while_there_are_attempts_left(office: Office) -> None:
    started = office.start(office.submit(max_retries=1, policy=Policy(critical=True)))
    office.recorder.record([office.end(started, Verdict.FAILED)])
    assert office.woken.alerts == []


def test_an_end_that_no_worker_reports_is_counted_and_told_to_dependents(office: Office) -> None:
    job = office.submit()
    office.after(job)
    run = office.run(job)
    news = settled_news(office.ledger.cancel_runs(TENANT, [run.run_id]))

    office.recorder.record(news)

    assert [each.event_type for each in news] == [JobEventType.CANCELLED]
    [line] = office.minutes()
    assert (line.state, line.runs, line.duration_ms) == (RunState.CANCELLED, 1, 0)
    assert office.endings() == [run.run_id]
    assert _status(office, news[0]) == "CANCELLED"


def test_a_worker_lost_for_good_wakes_somebody(office: Office) -> None:
    job = office.submit(policy=Policy(critical=True))
    for _ in range(5):
        office.start(job)
        news = settled_news(office.ledger.requeue_lost(timedelta(seconds=-60)))
        office.recorder.record(news)

    [alert] = office.woken.alerts
    assert alert.status == "FAILED"


def test_with_the_bus_away_dependents_are_freed_all_the_same(office: Office) -> None:
    job = office.submit()
    dependent = office.after(job)
    office.bus.away = {JOB_EVENTS.name, DEPENDENCY_EVENTS.name}

    office.recorder.record([office.end(office.start(job))])

    assert office.run(dependent).state is RunState.SCHEDULED


def test_without_the_topic_of_dependents_no_outcome_becomes_a_dead_letter(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = office.submit()
    dependent = office.after(job)
    publish = office.bus.publish

    def bare(batch: Sequence[Message]) -> None:
        if any(message.topic == DEPENDENCY_EVENTS.name for message in batch):
            raise UnknownTopic("a broker that has just started knows of no topic")
        publish(batch)

    monkeypatch.setattr(office.bus, "publish", bare)

    assert office.recorder.handle([_bundle(office.end(office.start(job)))]) == []

    assert office.run(dependent).state is RunState.SCHEDULED
    assert office.bus.logs[DEAD_LETTERS.name, 0] == []


def test_no_favour_can_fail_a_batch(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object) -> None:
        raise QueueUnavailable("away")

    def nonsense(*_: object) -> None:
        raise ValueError("something that nobody thought of")

    monkeypatch.setattr(office.cache, "put_job_statuses", away)
    monkeypatch.setattr(office.ledger, "add_minutes", nonsense)
    monkeypatch.setattr(office.ledger, "critical_jobs", nonsense)
    monkeypatch.setattr(office.woken, "send", nonsense)
    office.bus.away = {JOB_EVENTS.name}
    critical = office.submit(policy=Policy(critical=True))
    office.after(critical)
    failing = office.start(critical)
    retried = office.start(office.submit(max_retries=1))

    office.recorder.record(
        [office.end(failing, Verdict.FAILED), office.end(retried, Verdict.FAILED)]
    )

    assert office.ledger.count_runs(RunState.FAILED) == 1
    assert office.endings() == [failing.run_id]


def test_what_cannot_be_read_is_buried_and_holds_nothing_up(office: Office) -> None:
    letters = office.bus.consumer("undertaker", [DEAD_LETTERS.name])
    event = office.end(office.start(office.submit()))
    records = [_record(b"{"), _bundle(event, offset=1), _record(b"3", WORKER_EVENTS.name)]

    assert office.recorder.handle(records) == []

    assert office.ledger.count_runs(RunState.SUCCESS) == 1
    buried = [read_dead_letter(each) for each in letters.poll(10, 0.05)]
    assert [(each.topic, each.value) for each in buried] == [
        (JOB_EVENTS.name, b"{"),
        (WORKER_EVENTS.name, b"3"),
    ]


def test_of_a_bundle_only_the_piece_that_cannot_be_read_is_buried(office: Office) -> None:
    letters = office.bus.consumer("undertaker", [DEAD_LETTERS.name])
    ends = [office.end(office.start(office.submit())) for _ in range(2)]
    bundle = _record(b"[%b,3,%b]" % (encode(ends[0]), encode(ends[1])))

    assert office.recorder.handle([bundle]) == []

    assert office.ledger.count_runs(RunState.SUCCESS) == 2
    assert [read_dead_letter(each).value for each in letters.poll(10, 0.05)] == [b"[3]"]


def test_an_event_that_nobody_can_record_is_buried_without_its_neighbours(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    letters = office.bus.consumer("undertaker", [DEAD_LETTERS.name])
    ends = [office.end(office.start(office.submit())) for _ in range(5)]
    finish = office.ledger.finish

    def refuse(outcomes: Sequence[Outcome]) -> list[Settled]:
        if any(outcome.run_id == ends[3].run_id for outcome in outcomes):
            raise ValueError("no such number")
        return finish(outcomes)

    monkeypatch.setattr(office.ledger, "finish", refuse)

    assert office.recorder.handle([_bundle(*ends)]) == []

    assert office.ledger.count_runs(RunState.SUCCESS) == 4
    [letter] = [read_dead_letter(each) for each in letters.poll(10, 0.05)]
    assert (letter.value, letter.why) == (_bundle(ends[3]).value, "ValueError: no such number")


def test_bundles_of_many_events_are_recorded_some_at_a_time(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record, "_AT_ONCE", 2)
    ends = [office.end(office.start(office.submit())) for _ in range(5)]
    sizes: list[int] = []
    finish = office.ledger.finish

    def counted(outcomes: Sequence[Outcome]) -> list[Settled]:
        sizes.append(len(outcomes))
        return finish(outcomes)

    monkeypatch.setattr(office.ledger, "finish", counted)

    assert office.recorder.handle([_bundle(*ends[:3]), _bundle(*ends[3:])]) == []

    assert sizes == [2, 2, 1]
    assert office.ledger.count_runs(RunState.SUCCESS) == 5


def test_without_the_ledger_all_is_delivered_again_and_nothing_buried(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    letters = office.bus.consumer("undertaker", [DEAD_LETTERS.name])
    records = [_record(b"{"), _bundle(office.end(office.start(office.submit())), offset=1)]
    monkeypatch.setattr(MemoryQueryLedger, "finish", _away)

    assert office.recorder.handle(records) == records

    assert letters.poll(10, 0.0) == []


def test_who_came_and_went_is_noted(office: Office) -> None:
    def told(what: WorkerEventType, worker: str) -> Record:
        event = WorkerEvent(what, worker, "default", office.clock(), 4)
        return _record(encode(event), WORKER_EVENTS.name)

    office.recorder.handle(
        [
            told(WorkerEventType.REGISTERED, "w1"),
            told(WorkerEventType.REGISTERED, "w2"),
            told(WorkerEventType.STOPPED, "w1"),
        ]
    )

    assert [worker.worker_id for worker in office.ledger.list_workers("", 10)] == ["w2"]


def test_metrics_are_told_what_ended(office: Office) -> None:
    told: list[Folded] = []
    recorder = Recorder(office.ledger, office.bus, measure=told.append)
    started = office.start(office.submit())

    recorder.record([started])
    recorder.record([office.end(started)])

    assert [len(each.endings) for each in told] == [0, 1]


def test_an_event_that_is_odd_costs_its_count_and_not_the_batch(office: Office) -> None:
    odd = msgspec.structs.replace(office.end(office.start(office.submit())), priority=11)

    assert office.recorder.handle([_bundle(odd)]) == []

    assert office.ledger.count_runs(RunState.SUCCESS) == 1
    assert office.minutes() == []


def test_a_bus_known_to_be_away_is_not_asked_and_all_the_rest_is_done(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked(*_: object) -> None:
        raise AssertionError("nobody was to wait for it")

    monkeypatch.setattr(office.bus, "publish", asked)
    job = office.submit(policy=Policy(critical=True))
    dependent = office.after(job)
    retried = office.start(office.submit(max_retries=1))
    failing = office.start(job)
    events = [office.end(failing, Verdict.FAILED), office.end(retried, Verdict.FAILED)]

    office.recorder.record(events, bus_is_away=True)

    assert office.run(dependent).state is RunState.SKIPPED
    assert [line.state for line in office.minutes()] == [RunState.FAILED]
    assert len(office.woken.alerts) == 1


def test_the_leader_is_woken_for_a_retry(office: Office) -> None:
    woken: list[bool] = []
    recorder = Recorder(office.ledger, office.bus, wake=lambda: woken.append(True))
    retried = office.start(office.submit(max_retries=1))

    recorder.record([retried])
    before = len(woken)
    recorder.record([office.end(retried, Verdict.FAILED)])

    assert (before, len(woken)) == (0, 1)


def test_a_leader_that_cannot_be_woken_fails_no_batch(office: Office) -> None:
    def nobody() -> None:
        raise QueueUnavailable("away")

    recorder = Recorder(office.ledger, office.bus, wake=nobody)

    retried = office.start(office.submit(max_retries=1))
    folded = recorder.record([office.end(retried, Verdict.FAILED)])

    assert [each.state for each in folded.seen] == [RunState.RETRYING]
