"""Until when a ledger may be left alone: before that, nobody would find anything to do in it."""

from datetime import UTC, datetime, timedelta
from functools import partial
from uuid import uuid4

from hypothesis import Phase
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from lamplighter.adapters.memory.clock import WoundClock
from lamplighter.adapters.memory.ledger import MemoryLedger
from lamplighter.domain.ids import first_run_id
from lamplighter.domain.run import Outcome, Ticket, Verdict
from lamplighter.domain.states import RunState
from lamplighter.ports.ledger import Ledger
from lamplighter.stages.sweep import SILENCE
from lamplighter.stages.thrift import rests_until
from tests.adapters.ledger.builders import HOUR, TENANT, following, hourly, one_off
from tests.adapters.ledger.machine import Alike, plan_all
from tests.adapters.ledger.play import ANY_SILENCE, Play
from tests.adapters.ledger.stores import Store
from tests.adapters.ledger.test_alike import live

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
MOMENT = timedelta(milliseconds=1)
AT_WORK = (RunState.RUNNING, RunState.CANCELLING)


def until(play: Play) -> datetime:
    return rests_until(play.ledger, play.ledger.now() + HOUR)


def test_an_empty_ledger_rests_for_as_long_as_it_may(ledger: Ledger) -> None:
    latest = ledger.now() + HOUR
    assert rests_until(ledger, latest) == latest


def test_a_run_ends_its_rest(play: Play) -> None:
    play.submit(one_off(play.at(1200)), one_off(play.at(600)), one_off(play.at(7200)))
    assert abs(until(play) - play.at(600)) < timedelta(seconds=5)


def test_a_schedule_ends_its_rest_when_it_is_to_be_planned(play: Play) -> None:
    submission = hourly(play.at(-1800))
    play.submit(submission)
    [first] = play.ledger.runs(TENANT, submission.job.job_id)
    play.ledger.cancel_runs(TENANT, [first.run_id])
    assert until(play) == submission.next_fire


def test_what_is_due_and_what_runs_keep_it_from_resting(play: Play) -> None:
    due = play.due()
    assert until(play) <= play.ledger.now()
    claimed = play.start(due)
    assert until(play) <= play.ledger.now()
    play.end(claimed, Verdict.SUCCESS)
    assert until(play) > play.ledger.now()


def test_a_retry_ends_its_rest(play: Play) -> None:
    due = play.due(max_retries=1)
    retried = play.end(play.start(due), Verdict.FAILED)
    assert until(play) == retried.wake_at


def test_who_is_blocked_is_looked_at_when_it_has_waited_too_long(play: Play) -> None:
    upstream = one_off(play.at(1800))
    play.submit(upstream)
    play.submit(following(upstream.job))
    assert abs(until(play) - play.at(1800)) < timedelta(seconds=5)


def test_a_run_that_jitter_holds_back_hides_none_behind_it(play: Play) -> None:
    """By key the jittered one is first; it is due a day later, or the test proves nothing."""
    jittered = [hourly(play.at(600 + n), timing={"jitter_seconds": 86_400.0}) for n in range(5)]
    play.submit(*jittered, one_off(play.at(660)))
    assert max(play.submitted(each).due_at for each in jittered) > play.at(3600)
    assert until(play) <= play.at(660)


class Resting(Alike):
    """A random life, with a look now and then: what would a leader find just before that?"""

    looks = 0

    def __init__(self, ledger: Ledger, clock: WoundClock | None) -> None:
        super().__init__([ledger])
        self._ledger, self._clock = ledger, clock

    @precondition(lambda self: self.jobs)
    @rule(latest=st.sampled_from([60, 3600, 10800]), is_quiet=st.sampled_from([True, True, False]))
    def look(self, latest: int, is_quiet: bool) -> None:
        if is_quiet:
            self._work_off()
        self._resolve()
        now = self._ledger.now()
        at = rests_until(self._ledger, now + timedelta(seconds=latest))
        self._nothing_is_earlier_than(at)
        if at > now and self._clock is not None:
            type(self).looks += 1
            self._clock.wind(at - MOMENT - now)
            self._nothing_is_found_before(at)
            self._clock.wind(now + MOMENT - at)

    def teardown(self) -> None:
        """Each life ends with one: how many have one before is up to chance, and to what the
        random choices are drawn from, which is all that was imported before."""
        if self.jobs:
            self.look(3600, is_quiet=True)
        super().teardown()

    @precondition(lambda self: self._clock is not None)
    @rule(minutes=st.integers(1, 90))
    def time_passes(self, minutes: int) -> None:
        assert self._clock is not None
        self._clock.wind(timedelta(minutes=minutes))

    def _work_off(self) -> None:
        """Everything that is due is planned, run and ended; some of it frees what is due next."""
        for _ in range(4):
            self._ledger.requeue_lost(ANY_SILENCE)
            plan_all(self._ledger, self._ledger.now() + MOMENT)
            for run in self.runs:
                answer = self._ledger.claim("w3", uuid4(), [Ticket(run.run_id, run.fence)])
                for claimed in answer.claimed:
                    self._ledger.finish(
                        [
                            Outcome(
                                run_id=claimed.run_id, fence=claimed.fence, verdict=Verdict.SUCCESS
                            )
                        ]
                    )
            self._resolve()

    def _resolve(self) -> None:
        """What recorder and resolver do, and say afterwards."""
        ended = [run.run_id for run in self.runs if run.state.is_final]
        self._ledger.free_dependents(ended)

    def _nothing_is_earlier_than(self, at: datetime) -> None:
        for run in self.runs:
            if run.state in AT_WORK:
                assert at <= self._ledger.now()
            elif run.wake_at is not None:
                assert at <= run.wake_at
            elif run.state is RunState.SCHEDULED:
                assert at <= run.due_at
            else:
                assert run.state.is_final or run.state is RunState.PARKED

    def _nothing_is_found_before(self, at: datetime) -> None:
        ledger, before = self._ledger, at - MOMENT
        assert ledger.due_schedules(before, 10) == []
        assert ledger.page(first_run_id(ledger.cursor().watermark), before, 10) == []
        assert ledger.requeue_lost(SILENCE) == []
        assert ledger.settle_overdue() == []
        assert ledger.wake(before, 10) == []


def in_memory() -> Resting:
    clock = WoundClock(NOON)
    return Resting(MemoryLedger(clock), clock)


def on_postgres(store: Store) -> Resting:
    return Resting(store.emptied(), None)


def test_a_ledger_in_memory_has_nothing_to_do_before_its_rest_is_over() -> None:
    Resting.looks = 0
    live(in_memory, lives=80, steps=40)
    assert Resting.looks > 20, Resting.looks


def test_a_ledger_on_postgres_has_nothing_earlier_than_the_end_of_its_rest(store: Store) -> None:
    live(partial(on_postgres, store), lives=15, steps=25, phases=[Phase.generate])
