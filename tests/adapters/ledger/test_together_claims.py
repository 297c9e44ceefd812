"""Many at once, on claims and outcomes: whatever the order, the ledger's word is one."""

from collections.abc import Sequence
from functools import partial
from threading import Lock
from uuid import uuid4

import pytest

from lamplighter.domain.policy import Overlap
from lamplighter.domain.run import ClaimAnswer, Outcome, Recorded, Refusal, Run, Ticket, Verdict
from lamplighter.domain.states import RunState
from tests.adapters.ledger.builders import TENANT, one_off
from tests.adapters.ledger.play import ANY_SILENCE, Play, at_once, together
from tests.adapters.ledger.stores import on_every_version

THREADS = 8
WORKERS = [f"w{n}" for n in range(THREADS)]
ROUNDS = 3


def claim_all(play: Play, runs: Sequence[Run], worker: str) -> ClaimAnswer:
    tickets = [Ticket(run.run_id, run.fence) for run in runs]
    return play.ledger.claim(worker, uuid4(), tickets)


def claim_one(play: Play, run: Run) -> ClaimAnswer:
    return claim_all(play, [run], "w1")


@on_every_version
@pytest.mark.parametrize("keyed", [{}, {"max_concurrency": 50}], ids=["plain", "keyed"])
def test_overlapping_claims_give_each_run_to_one_worker(play: Play, keyed: dict[str, int]) -> None:
    for _ in range(ROUNDS):
        runs = [play.due(**keyed) for _ in range(10)]
        answers = at_once(partial(claim_all, play, runs), WORKERS)
        given = [claimed.run_id for answer in answers for claimed in answer.claimed]
        assert sorted(given) == sorted(run.run_id for run in runs)
        refusals = {why for answer in answers for why in answer.refused.values()}
        assert refusals <= {Refusal.TAKEN}
        assert all(play.seen(run).fence == 1 for run in runs)


def test_a_claim_repeated_at_the_same_time_is_one_claim(play: Play) -> None:
    runs = [play.due(), play.due(max_concurrency=1)]
    tickets = [Ticket(run.run_id, 0) for run in runs]
    claim = uuid4()
    answers = at_once(lambda _: play.ledger.claim("w1", claim, tickets), range(4))
    for answer in answers:
        assert {claimed.run_id for claimed in answer.claimed} == {run.run_id for run in runs}


def test_forbid_lets_one_of_many_fires_run(play: Play) -> None:
    for _ in range(ROUNDS):
        first = play.due_hourly(overlap=Overlap.FORBID)
        runs = [first, *(play.again(first, -0.5, f"now:{n}") for n in range(THREADS - 1))]
        answers = at_once(partial(claim_one, play), runs)
        assert sum(len(answer.claimed) for answer in answers) == 1
        states = sorted(play.state(run).name for run in runs)
        assert states == ["RUNNING", *["SKIPPED"] * (THREADS - 1)]


class Floor:
    """Counts who is at work, and remembers the most there ever were."""

    def __init__(self) -> None:
        self.most = 0
        self.order: list[Run] = []
        self._now = 0
        self._lock = Lock()

    def enter(self, run: Run) -> None:
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
            self.order.append(run)

    def leave(self) -> None:
        with self._lock:
            self._now -= 1


def work_off(play: Play, runs: Sequence[Run], floor: Floor, worker: str) -> None:
    """Claim whatever can be claimed until all is done, as messages come in any order."""
    mine = runs if worker in WORKERS[::2] else runs[::-1]
    while waiting := [run for run in map(play.seen, mine) if not run.state.is_final]:
        for run in waiting:
            for claimed in claim_all(play, [run], worker).claimed:
                floor.enter(run)
                floor.leave()  # before the ledger knows: it may hand the slot on at once
                play.end(claimed)


@on_every_version
def test_a_limit_of_three_holds_against_eight_workers(play: Play) -> None:
    keyed = {"concurrency_key": "bank", "max_concurrency": 3}
    runs = [play.due(**keyed) for _ in range(12)]
    floor = Floor()
    at_once(partial(work_off, play, runs, floor), WORKERS)
    assert floor.most <= 3
    assert sorted(run.run_id for run in floor.order) == sorted(run.run_id for run in runs)
    assert {play.state(run) for run in runs} == {RunState.SUCCESS}


def test_claims_at_once_take_no_more_than_the_limit(play: Play) -> None:
    for _ in range(ROUNDS):
        key = uuid4().hex
        runs = [play.due(concurrency_key=key, max_concurrency=3) for _ in range(THREADS)]
        answers = at_once(partial(claim_one, play), runs)
        assert sum(len(answer.claimed) for answer in answers) == 3
        states = sorted(play.state(run).name for run in runs)
        assert states == [*["PARKED"] * 5, *["RUNNING"] * 3]


@on_every_version
def test_order_holds_against_eight_workers(play: Play) -> None:
    fires = [play.at(-1 + n / 100) for n in range(10)]
    runs = [play.submitted(one_off(fire, ordering_key="k")) for fire in fires]
    floor = Floor()
    at_once(partial(work_off, play, runs, floor), WORKERS)
    assert floor.most == 1
    assert [run.run_id for run in floor.order] == [run.run_id for run in runs]


@pytest.mark.parametrize("keyed", [{}, {"max_concurrency": 1}], ids=["plain", "keyed"])
@pytest.mark.parametrize("verdict", [Verdict.SUCCESS, Verdict.FAILED, Verdict.RELEASED])
def test_one_report_from_many_is_accepted_once(
    play: Play, verdict: Verdict, keyed: dict[str, int]
) -> None:
    run = play.due(**keyed)
    claimed = play.start(run)
    settled = at_once(lambda _: play.end(claimed, verdict), range(THREADS))
    accepted = [each for each in settled if each.recorded is Recorded.ACCEPTED]
    assert len(accepted) == 1
    assert {each.recorded for each in settled} == {Recorded.ACCEPTED, Recorded.REPEATED}


def test_two_verdicts_at_once_end_a_run_one_way(play: Play) -> None:
    for _ in range(ROUNDS):
        run = play.due()
        claimed = play.start(run)
        outcomes = [
            Outcome(run_id=run.run_id, fence=claimed.fence, verdict=verdict, retryable=False)
            for verdict in (Verdict.SUCCESS, Verdict.FAILED)
        ]
        answers = at_once(lambda outcome: play.ledger.finish([outcome])[0], outcomes)
        assert sorted(each.recorded.name for each in answers) == ["ACCEPTED", "STALE"]


def test_a_cancel_and_a_claim_agree(play: Play) -> None:
    for _ in range(ROUNDS):
        run = play.due()
        cancel = partial(play.ledger.cancel_runs, TENANT, [run.run_id])
        together(cancel, partial(claim_one, play, run))
        after = play.seen(run)
        assert (after.state, after.fence) in {(RunState.CANCELLED, 0), (RunState.CANCELLING, 1)}


def test_two_sweepers_lose_a_run_once(play: Play) -> None:
    runs = [play.due(max_concurrency=1) for _ in range(3)]
    play.claim(*runs)
    swept = at_once(play.ledger.requeue_lost, [ANY_SILENCE] * 4)
    assert sorted(each.run_id for some in swept for each in some) == sorted(
        run.run_id for run in runs
    )
    assert all(play.seen(run).losses == 1 for run in runs)
