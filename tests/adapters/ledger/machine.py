"""A machine that does the same random things to several ledgers and compares what they say."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import msgspec
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from lamplighter.domain.errors import LamplighterError
from lamplighter.domain.ids import epoch_ms, instant_of
from lamplighter.domain.job import Job, Policy
from lamplighter.domain.policy import Backoff, OnAmbiguous, Overlap, TriggerRule
from lamplighter.domain.run import Claimed, Outcome, Recorded, Run, Submission, Ticket, Verdict
from lamplighter.domain.slots import backfill_origin
from lamplighter.domain.states import RunState, SkipReason
from lamplighter.ports.ledger import Ledger, Planned
from tests.adapters.ledger.builders import HOUR, TENANT, following, hourly, one_off
from tests.adapters.ledger.laws import Laws
from tests.adapters.ledger.play import A_MINUTE, ANY_SILENCE
from tests.adapters.ledger.views import attempts, same, told, whole

STEADY = Backoff(jitter=False)
PICK = st.integers(0, 1000)
WORKER = st.sampled_from(["w1", "w2"])

# Jobs of every kind that slots and dependencies know, named by what they are about.
KINDS: dict[str, Callable[[datetime], Submission]] = {
    "plain": lambda fire: one_off(fire, policy=Policy(backoff=STEADY)),
    "soon": lambda fire: one_off(fire + HOUR),
    "hourly": hourly,
    "behind": lambda fire: hourly(fire - 3 * HOUR),
    "forbid": lambda fire: hourly(fire, overlap=Overlap.FORBID),
    "queue": lambda fire: hourly(fire, overlap=Overlap.QUEUE),
    "replace": lambda fire: hourly(fire, overlap=Overlap.REPLACE, max_concurrency=1),
    "ordered": lambda fire: one_off(fire, ordering_key="k", max_retries=1),
    "limited": lambda fire: one_off(fire, concurrency_key="c", max_concurrency=2),
    "both": lambda fire: one_off(fire, ordering_key="k", concurrency_key="c", max_concurrency=2),
    "fanned": lambda fire: hourly(
        fire, overlap=Overlap.FORBID, policy=Policy(fan_out=("default", "east"))
    ),
    "held": lambda fire: one_off(
        fire, overlap=Overlap.FORBID, policy=Policy(on_ambiguous=OnAmbiguous.HOLD)
    ),
}
EDITS: list[dict[str, Any]] = [
    {"priority": 1},
    {"name": "renamed"},
    {"max_retries": 0},
    {"overlap": Overlap.REPLACE},
    {"ordering_key": "k"},
    {"concurrency_key": "c", "max_concurrency": 1},
    {"pool": "east"},
    {"after": ()},
]


class Alike(RuleBasedStateMachine):
    """Every rule is one call; whatever one ledger answers, all answer.

    Which rules may come next depends on what was asked alone. Answers depend on the clock and on
    random ids, and the same life must be had again.
    """

    def __init__(self, ledgers: Sequence[Ledger]) -> None:
        super().__init__()
        self.ledgers = ledgers
        self.laws = Laws(ledgers)
        now = ledgers[0].now()
        self.base = instant_of(epoch_ms(now)) - timedelta(seconds=20)
        self.jobs: list[Job] = []
        self.submitted = 0
        self.claims: list[Claimed] = []
        self.fires = 0

    def ask(self, call: Callable[[Ledger], object]) -> Any:
        """The answer that all of them give."""
        answers = [_answer(call, ledger) for ledger in self.ledgers]
        same([told(answer) for answer in answers])
        return answers[0]

    def next_fire(self) -> datetime:
        """Distinct, so that the order of equal fires is nobody's business."""
        self.fires += 1
        return self.base + timedelta(milliseconds=10 * self.fires)

    @property
    def runs(self) -> list[Run]:
        found = [run for job in self.jobs for run in self.ledgers[0].runs(TENANT, job.job_id)]
        return sorted(found, key=lambda run: run.run_id)

    def a_job(self, pick: int) -> Job:
        return self.ledgers[0].job(TENANT, self.jobs[pick % len(self.jobs)].job_id)

    def a_run(self, pick: int) -> UUID:
        runs = self.runs
        return runs[pick % len(runs)].run_id if runs else uuid4()

    @precondition(lambda self: self.submitted < 8)
    @rule(kind=st.sampled_from(sorted(KINDS)))
    def submit(self, kind: str) -> None:
        self.submitted += 1
        submission = KINDS[kind](self.next_fire())
        self.ask(lambda ledger: ledger.submit([submission]))
        self.jobs.append(submission.job)

    @precondition(lambda self: 0 < self.submitted < 8)
    @rule(picks=st.sets(PICK, min_size=1, max_size=2), trigger=st.sampled_from(TriggerRule))
    def submit_after(self, picks: set[int], trigger: TriggerRule) -> None:
        self.submitted += 1
        upstreams = {job.job_id: job for job in map(self.a_job, sorted(picks))}
        submission = following(*upstreams.values(), policy=Policy(trigger_rule=trigger))
        accepted = self.ask(lambda ledger: ledger.submit([submission]))
        if not isinstance(accepted, Exception):
            self.jobs.append(submission.job)

    @precondition(lambda self: self.submitted)
    @rule(pick=PICK, cascade=st.booleans())
    def run_now(self, pick: int, cascade: bool) -> None:
        job, fire = self.a_job(pick), self.next_fire()
        self.ask(lambda ledger: ledger.add_run(TENANT, job.job_id, "now:1", fire, cascade=cascade))

    @precondition(lambda self: self.submitted)
    @rule(pick=PICK)
    def backfill(self, pick: int) -> None:
        job, fire = self.a_job(pick), self.next_fire()
        origin = backfill_origin("1", 1)
        self.ask(lambda ledger: ledger.add_run(TENANT, job.job_id, origin, fire))

    @precondition(lambda self: self.submitted)
    @rule(worker=WORKER, picks=st.lists(PICK, min_size=1, max_size=5), stale=st.booleans())
    def claim(self, worker: str, picks: list[int], stale: bool) -> None:
        runs = {run.run_id: run for run in self.runs}
        chosen = {self.a_run(pick) for pick in picks} & runs.keys()
        tickets = [Ticket(each, runs[each].fence - stale) for each in sorted(chosen)]
        claim_id = uuid4()
        answer = self.ask(lambda ledger: ledger.claim(worker, claim_id, tickets))
        self.claims += answer.claimed

    @rule(pick=PICK, verdict=st.sampled_from(Verdict), retryable=st.booleans())
    def finish(self, pick: int, verdict: Verdict, retryable: bool) -> None:
        if not self.claims:
            return
        claimed = self.claims[-1 - pick % min(6, len(self.claims))]
        outcome = Outcome(
            run_id=claimed.run_id,
            fence=claimed.fence,
            verdict=verdict,
            retryable=retryable,
            error=None if verdict is Verdict.SUCCESS else verdict.value,
        )
        [settled] = self.ask(lambda ledger: ledger.finish([outcome]))
        if settled.recorded is Recorded.ACCEPTED:
            self.laws.accepted(settled)

    @precondition(lambda self: self.submitted)
    @rule(pick=PICK)
    def cancel_run(self, pick: int) -> None:
        run_id = self.a_run(pick)
        self.ask(lambda ledger: ledger.cancel_runs(TENANT, [run_id]))

    @precondition(lambda self: self.submitted)
    @rule(pick=PICK, reason=st.sampled_from(SkipReason))
    def skip_run(self, pick: int, reason: SkipReason) -> None:
        run_id = self.a_run(pick)
        self.ask(lambda ledger: ledger.skip([run_id], reason))

    @precondition(lambda self: self.submitted)
    @rule(pick=PICK, change=st.sampled_from(["pause", "resume", "cancel_job"]))
    def change(self, pick: int, change: str) -> None:
        job = self.a_job(pick)
        self.ask(lambda ledger: getattr(ledger, change)(TENANT, job.job_id))

    @precondition(lambda self: self.submitted)
    @rule(pick=PICK, edit=st.sampled_from(EDITS))
    def edit(self, pick: int, edit: dict[str, Any]) -> None:
        job = self.a_job(pick)
        after, fire = msgspec.structs.replace(job, **edit), self.next_fire() + 2 * HOUR
        times: dict[str, Any] = {"first_fire": None, "next_fire": None}
        if job.schedule.schedule_type.is_recurring:
            times = {"first_fire": fire, "next_fire": fire + HOUR}
        self.ask(lambda ledger: ledger.reschedule(after, expected_version=job.version, **times))

    @precondition(lambda self: self.submitted)
    @rule(pick=PICK)
    def free(self, pick: int) -> None:
        run_id = self.a_run(pick)
        self.ask(lambda ledger: ledger.free_dependents([run_id]))

    @precondition(lambda self: self.submitted)
    @rule(pick=PICK, state=st.sampled_from([RunState.SCHEDULED, RunState.SUCCESS]))
    def decide(self, pick: int, state: RunState) -> None:
        run_id = self.a_run(pick)
        self.ask(lambda ledger: ledger.decide_held(TENANT, run_id, state))

    @rule()
    def lose_workers(self) -> None:
        self.ask(lambda ledger: ledger.requeue_lost(ANY_SILENCE))

    @rule()
    def settle_overdue(self) -> None:
        self.ask(lambda ledger: ledger.settle_overdue())

    @rule()
    def wake(self) -> None:
        self.ask(lambda ledger: ledger.wake(ledger.now() + HOUR, 1000))

    @rule(pages=st.integers(1, 2))
    def plan(self, pages: int) -> None:
        until = self.base + 3 * HOUR
        for _ in range(pages):
            self.ask(lambda ledger: plan_all(ledger, until))

    @invariant()
    def all_know_the_same(self) -> None:
        for part in zip(*(whole(ledger, self.jobs) for ledger in self.ledgers), strict=True):
            same(part)

    @invariant()
    def the_laws_hold(self) -> None:
        self.laws.check(self.runs, self.jobs)

    def teardown(self) -> None:
        same([attempts(ledger, self.runs) for ledger in self.ledgers])


def _answer(call: Callable[[Ledger], object], ledger: Ledger) -> object:
    try:
        return call(ledger)
    except LamplighterError as error:
        return error


def plan_all(ledger: Ledger, until: datetime) -> object:
    lease = ledger.acquire_lease("watcher", uuid4().hex, A_MINUTE)
    assert lease is not None
    planned = [
        Planned(
            each.job, each.next_fire_at, each.job.version, (each.next_fire_at,), (),
            each.next_fire_at + HOUR,
        )
        for each in ledger.due_schedules(until, 100)
    ]  # fmt: skip
    due = ledger.plan(lease, planned)
    ledger.release_lease(lease)
    return due
