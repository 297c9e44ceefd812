"""A batch from claim to report: only what can start is claimed, and no outcome gets lost."""

import threading
from datetime import datetime
from uuid import uuid4

import pytest

from lamplighter.contracts.messages import JobEventType
from lamplighter.domain.errors import LedgerUnavailable
from lamplighter.domain.job import Job
from lamplighter.domain.ordering import LITTLE
from lamplighter.domain.policy import ScheduleType, Upstream
from lamplighter.domain.run import Submission, Verdict
from lamplighter.domain.schedule import Schedule
from lamplighter.domain.states import RunState
from lamplighter.ports.target import Context
from tests.stages.working import Workplace

PATIENCE = 10.0


def nothing(_: Context) -> None: ...


def test_a_batch_is_claimed_run_and_reported() -> None:
    place = Workplace()
    place.does("good", lambda _: "done")
    messages = place.due("good", 3)

    executed = place.executor.execute(messages)

    assert executed.claimed == 3
    told = place.told()
    assert [event.event_type for event in told].count(JobEventType.RUNNING) == 3
    outcomes = {event.run_id: event.outcome for event in told if event.outcome}
    assert outcomes.keys() == {message.run_id for message in messages}
    assert all(each.verdict is Verdict.SUCCESS for each in outcomes.values())
    assert len(place.ledger.marked) == len(place.ledger.claims)


def test_a_worker_that_is_past_saving_claims_nothing_and_waits_for_nothing() -> None:
    place = Workplace()
    place.does("good", lambda _: "done")
    messages = place.due("good", 3)
    place.runner.close()

    executed = place.executor.execute(messages)

    assert (executed.claimed, executed.left) == (0, messages)
    assert place.ledger.claims == []


def test_a_single_run_does_not_wait_until_large_batches_are_claimed() -> None:
    place = Workplace(places=100)
    place.does("good", nothing, quick=True)
    large, single = place.due("good", LITTLE + 1), place.due("good")

    with place.crowd:  # another large batch is just being claimed
        waiting = threading.Thread(target=place.executor.execute, args=[large])
        waiting.start()
        assert place.executor.execute(single).claimed == 1
        assert place.ledger.claims == [1]
    waiting.join(PATIENCE)
    assert place.ledger.claims == [1, LITTLE + 1]


def test_no_more_is_claimed_than_can_start_now() -> None:
    place = Workplace(places=2)
    release, started = threading.Event(), threading.Semaphore(0)

    def wait(_: Context) -> None:
        started.release()
        assert release.wait(PATIENCE)

    place.does("slow", wait)
    messages = place.due("slow", 5)
    running = threading.Thread(target=place.executor.execute, args=[messages])

    running.start()
    assert started.acquire(timeout=PATIENCE)
    assert started.acquire(timeout=PATIENCE)
    claimed_meanwhile = list(place.ledger.claims)
    release.set()
    running.join(PATIENCE)

    assert claimed_meanwhile == [2]
    assert sum(place.ledger.claims) == 5


def test_while_all_is_quick_more_is_claimed_each_time() -> None:
    place = Workplace(places=2)
    place.does("quick", nothing, quick=True)

    place.executor.execute(place.due("quick", 1_000))
    place.executor.execute(place.due("quick", 500))

    assert place.ledger.claims[:4] == [2, 4, 8, 16]
    assert place.ledger.claims[-1] == 500  # it has learnt


def test_a_slow_run_among_quick_ones_brings_the_claims_back_to_the_free_places() -> None:
    place = Workplace(places=2)
    place.does("quick", nothing, quick=True)
    place.does("slow", nothing)
    place.executor.execute(place.due("quick", 100))

    place.executor.execute(place.due("slow", 50))
    place.executor.execute(place.due("quick", 10))

    assert place.ledger.claims[-1] <= 8


def test_what_finds_no_place_in_time_is_left_for_another_delivery() -> None:
    place = Workplace(places=1)
    release, started = threading.Event(), threading.Event()

    def wait(_: Context) -> None:
        started.set()
        assert release.wait(PATIENCE)

    place.does("slow", wait)
    place.does("other", nothing)
    busy = threading.Thread(target=place.executor.execute, args=[place.due("slow")])
    busy.start()
    assert started.wait(PATIENCE)
    messages = place.due("other", 2)

    executed = place.executor.execute(messages, 0.05)
    release.set()
    busy.join(PATIENCE)

    assert executed.left == messages
    assert place.ledger.run("default", messages[0].run_id).state is RunState.SCHEDULED


def test_without_the_ledger_all_of_it_is_left() -> None:
    place = Workplace()
    place.does("good", nothing)
    messages = place.due("good", 3)
    place.ledger.away = True

    executed = place.executor.execute(messages)

    assert (executed.claimed, executed.left) == (0, messages)


def test_a_claim_whose_answer_was_lost_is_asked_for_again_and_run() -> None:
    place = Workplace()
    place.does("good", lambda _: "done")
    [lost] = place.due("good")
    place.ledger.deaf = True
    assert place.executor.execute([lost]).left == [lost]
    place.ledger.deaf = False

    place.executor.execute([lost])  # delivered again: refused as taken, and yet it runs

    outcomes = [event.run_id for event in place.told() if event.outcome]
    assert outcomes == [lost.run_id]


def test_of_many_such_claims_none_is_forgotten_while_the_ledger_is_away() -> None:
    place = Workplace()
    place.does("good", lambda _: "done")
    messages = place.due("good", 3)
    for message in messages[:2]:  # granted, and nobody heard of it: two batches at once
        claim_id = uuid4()
        place.ledger.claim("worker", claim_id, [message.ticket()])
        place.doubts.add(claim_id, [message.ticket()])
    place.ledger.away = True
    place.executor.execute(messages[2:])
    place.ledger.away = False

    place.executor.execute(messages[2:])

    outcomes = {event.run_id for event in place.told() if event.outcome}
    assert outcomes == {message.run_id for message in messages}


def test_a_clock_that_was_never_read_claims_nothing() -> None:
    place = Workplace()
    place.does("good", nothing)
    messages = place.due("good")

    def nobody_knows() -> datetime:
        raise LedgerUnavailable("its clock was never read")

    place.now = nobody_knows

    executed = place.executor.execute(messages)

    assert (executed.left, place.ledger.claims) == (messages, [])


def test_without_its_topics_a_run_goes_on_and_its_outcome_is_written_down() -> None:
    place = Workplace()
    place.does("slow", nothing)
    [message] = place.due("slow")
    place.bus.bare = True

    place.executor.execute([message])

    assert place.ledger.run("default", message.run_id).state is RunState.SUCCESS


def test_without_the_bus_outcomes_go_to_the_ledger_and_dependents_are_freed() -> None:
    place = Workplace()
    place.does("good", lambda _: "done")
    [message] = place.due("good")
    upstream = place.ledger.run("default", message.run_id).job_id
    dependent = Job(
        job_id=uuid4(),
        name="after it",
        schedule=Schedule(ScheduleType.AFTER),
        after=(Upstream(str(upstream)),),
    )
    place.ledger.submit([Submission(dependent)])
    place.bus.away = True

    place.executor.execute([message])

    assert place.ledger.run("default", message.run_id).state is RunState.SUCCESS
    [freed] = place.ledger.runs("default", dependent.job_id)
    assert freed.state is RunState.SCHEDULED
    assert place.ledger.marked == []


@pytest.mark.parametrize("back", ["bus", "ledger"])
def test_with_both_away_an_outcome_waits_for_whichever_comes_back(back: str) -> None:
    place = Workplace()
    place.does("good", lambda _: place.ledger.__setattr__("away", True))
    [message] = place.due("good")
    place.bus.away = True
    come_back = {"bus": place.bus, "ledger": place.ledger}[back]
    place.nap = lambda _: setattr(come_back, "away", False)

    place.executor.execute([message])

    place.ledger.away = False
    told = [event.run_id for event in place.told() if event.outcome]
    state = place.ledger.run("default", message.run_id).state
    assert (told, state) == {
        "bus": ([message.run_id], RunState.RUNNING),  # the recorder will write it down
        "ledger": ([], RunState.SUCCESS),
    }[back]
