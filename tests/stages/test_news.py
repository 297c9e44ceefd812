"""News: told where somebody listens, and never in anybody's way."""

import threading
from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

import pytest

from lamplighter.contracts.bundles import read_job_events
from lamplighter.contracts.messages import JobEvent, JobEventType, scheduled
from lamplighter.contracts.topics import JOB_EVENTS
from lamplighter.domain.errors import LamplighterError
from lamplighter.domain.ids import BY_SCHEDULE
from lamplighter.domain.policy import Overlap
from lamplighter.domain.run import Accepted, Submission, new_runs
from lamplighter.domain.states import RunState
from lamplighter.ports.bus import BusUnavailable, Message, Record
from lamplighter.ports.ledger import Planned
from lamplighter.stages.effort import Effort
from lamplighter.stages.news import (
    Announcer,
    planned_news,
    settled_news,
    submitted_news,
    tell,
    tell_settled,
)
from lamplighter.stages.outbox import Outbox
from tests.stages.recording import NOON, TENANT, Office

PATIENCE = 10.0


@pytest.fixture
def office() -> Office:
    return Office()


def _news(office: Office) -> list[JobEvent]:
    job = office.submit()
    return [scheduled(run, NOON) for run in new_runs(job, NOON, origin=BY_SCHEDULE)]


def test_what_the_ledger_settles_is_told_in_its_own_words(office: Office) -> None:
    upstream = office.submit()
    dependent = office.after(upstream)
    run = office.run(upstream)
    settled = office.ledger.cancel_runs(TENANT, [run.run_id])
    settled += office.ledger.free_dependents([run.run_id])

    assert tell(office.bus, settled_news(settled))

    told = {each.job_id: each for each in office.news()}
    assert told[upstream.job_id].event_type is JobEventType.CANCELLED
    skipped = told[dependent.job_id]
    assert (skipped.event_type, skipped.reason) == (JobEventType.SKIPPED, "upstream_failed")
    assert (skipped.tenant, skipped.pool, skipped.priority) == (TENANT, "default", 5)
    assert skipped.state is RunState.SKIPPED


def test_what_was_settled_before_is_no_news(office: Office) -> None:
    run = office.run(office.submit())
    office.ledger.cancel_runs(TENANT, [run.run_id])
    assert settled_news(office.ledger.cancel_runs(TENANT, [run.run_id])) == []


def test_a_run_that_is_asked_to_stop_has_not_ended(office: Office) -> None:
    job = office.submit()
    office.start(job)
    settled = office.ledger.cancel_runs(TENANT, [office.run(job).run_id])
    assert (settled[0].state, settled_news(settled)) == (RunState.CANCELLING, [])


def test_a_bus_that_is_away_is_said_and_not_raised(office: Office) -> None:
    office.bus.away = {JOB_EVENTS.name}
    assert not tell(office.bus, _news(office))
    assert tell(office.bus, [])


def test_with_the_bus_away_those_that_wait_are_freed_by_hand(office: Office) -> None:
    upstream = office.submit()
    dependent = office.after(upstream)
    office.bus.away = {JOB_EVENTS.name}

    settled = office.ledger.cancel_runs(TENANT, [office.run(upstream).run_id])
    tell_settled(office.ledger, office.bus, settled)

    assert office.run(dependent).state is RunState.SKIPPED


def test_only_new_jobs_are_told_as_submitted_each_with_its_first_run(office: Office) -> None:
    known = office.submit()
    new = Submission(office.submit(), NOON)
    first = new_runs(new.job, NOON)
    accepted = Accepted(frozenset({new.job.job_id}), [], first)

    news = submitted_news([Submission(known), new], accepted, NOON)

    assert [(each.event_type, each.job_id, each.run_id, each.due_at) for each in news] == [
        (JobEventType.SUBMITTED, new.job.job_id, None, NOON),
        (JobEventType.SCHEDULED, new.job.job_id, first[0].run_id, NOON),
    ]


def test_planned_runs_are_told_where_they_were_written(office: Office) -> None:
    later = NOON + timedelta(hours=1)
    job = office.submit(overlap=Overlap.ALLOW)
    planned = Planned(job, NOON, 1, (NOON, later), (), None)
    written = [new_runs(job, later)[0].as_due()]

    [news] = planned_news([planned], written, NOON)

    assert (news.event_type, news.run_id, news.due_at) == (
        JobEventType.SCHEDULED,
        written[0].run_id,
        later,
    )


class HangingBus:
    def __init__(self) -> None:
        self.let_go = threading.Event()
        self.calls = 0

    def publish(self, _: Sequence[Message]) -> None:
        self.calls += 1
        self.let_go.wait(PATIENCE)
        raise BusUnavailable("it hung, then it failed")


def test_an_announcement_does_not_wait_for_a_bus_that_hangs(office: Office) -> None:
    bus = HangingBus()
    announce = Announcer(bus.publish)
    news = _news(office)

    for _ in range(3):
        announce(news)

    assert not announce.drain(0.0)
    bus.let_go.set()
    assert announce.drain(PATIENCE)


def test_after_a_failure_the_bus_is_left_alone_for_a_while(office: Office) -> None:
    bus = HangingBus()
    bus.let_go.set()
    announce = Announcer(bus.publish, wait_seconds=PATIENCE)

    for _ in range(3):
        announce(_news(office))
    assert announce.drain(PATIENCE)

    assert bus.calls == 1


def test_announcements_arrive_in_order(office: Office) -> None:
    announce = Announcer(office.bus.publish)
    job = office.submit()
    fires = [NOON + timedelta(hours=n) for n in range(100)]
    for fire in fires:
        announce([scheduled(run, NOON) for run in new_runs(job, fire)])
    assert announce.drain(PATIENCE)
    assert [each.due_at for each in office.news()] == fires


def test_an_outbox_that_is_full_drops_and_says_so() -> None:
    in_hand, let_go = threading.Event(), threading.Event()
    sent: list[int] = []

    def send(items: list[int]) -> None:
        in_hand.set()
        let_go.wait(PATIENCE)
        sent.extend(items)

    outbox = Outbox("a test", send, room=3)
    outbox.put([0])
    assert in_hand.wait(PATIENCE)
    dropped = [outbox.put([n]) for n in range(1, 6)]
    let_go.set()

    assert outbox.drain(PATIENCE)
    assert (sent, dropped) == ([0, 1, 2, 3], [0, 0, 0, 1, 1])


def test_an_outbox_goes_on_after_a_failure_and_after_a_pause(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("lamplighter.stages.outbox._LINGER_SECONDS", 0.001)
    sent: list[str] = []

    def send(items: list[str]) -> None:
        if items == ["bad"]:
            raise LamplighterError("refused")
        sent.extend(items)

    outbox = Outbox("a test", send, room=3)
    for item in ("bad", "good", "better"):
        outbox.put([item])
        assert outbox.drain(PATIENCE)
        outbox_is_idle(outbox)
    assert sent == ["good", "better"]


def test_an_outbox_sends_the_first_at_once_and_those_that_follow_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    over = threading.Event()
    monkeypatch.setattr("lamplighter.stages.outbox._pause", lambda: over.wait(PATIENCE))
    sent: list[list[int]] = []
    outbox = Outbox("a test", sent.append, room=100)
    outbox.put([0])
    assert outbox.drain(PATIENCE)
    for n in range(1, 10):
        outbox.put([n])
    over.set()
    assert outbox.drain(PATIENCE)
    assert sent == [[0], [*range(1, 10)]]


def outbox_is_idle(outbox: Outbox[str]) -> None:
    thread = outbox._thread
    if thread is not None:
        thread.join(PATIENCE)


def test_an_effort_rests_after_a_failure_and_is_made_again_later() -> None:
    now = [0.0]
    made: list[int] = []

    def fail() -> None:
        made.append(1)
        raise ValueError("no")

    effort = Effort("a test", rest_seconds=5, steady=lambda: now[0])
    assert (effort.make(fail), effort.make(fail), len(made)) == (False, False, 1)
    now[0] = 5.0
    assert effort.make(lambda: made.append(2))
    assert made == [1, 2]


def test_an_event_of_a_state_that_is_not_known_yet_is_read_as_news_of_nothing() -> None:
    value = (
        b'[{"event_type": "job.scheduled", "job_id": "%s", "tenant": "t",'
        b' "at": "2030-01-01T00:00:00Z", "status": "DREAMING"}]' % str(UUID(int=1)).encode()
    )
    [(_, event)] = read_job_events([Record(JOB_EVENTS.name, 0, 0, None, value, 0)]).good
    assert event.state is None
