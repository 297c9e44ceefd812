"""Histories that the stages themselves have made: the checker finds nothing in them."""

from datetime import date, timedelta
from uuid import uuid4

import pytest

from lamplighter.domain.job import Job, Policy
from lamplighter.domain.policy import (
    CatchUpPolicy,
    EdgeRule,
    OnAmbiguous,
    Overlap,
    ScheduleType,
    TriggerRule,
    Upstream,
)
from lamplighter.domain.run import Submission, Verdict
from lamplighter.domain.schedule import Calendar, CalendarUse, Schedule
from lamplighter.domain.states import RunState, SkipReason
from lamplighter.stages.desk import fires_from
from lamplighter.stages.sweep import SILENCE
from lamplighter.stages.verify import RULES
from tests.stages.verify.world import (
    CALM,
    CATCH_ALL,
    CATCH_NONE,
    DAY,
    HOUR,
    MINUTE,
    NOON,
    TENANT,
    World,
    every,
)


@pytest.fixture
def world() -> World:
    return World()


def _clean(world: World) -> None:
    report = world.verify()
    assert [finding.text for finding in report.findings] == []
    assert report.found == 0


def test_an_empty_ledger(world: World) -> None:
    report = world.verify()

    assert [tally.rule for tally in report.rules] == RULES
    assert report.found == report.jobs == report.runs == 0
    assert report.lateness.p99 is None


def test_schedules_of_all_kinds(world: World) -> None:
    world.cron("* * * * *")
    world.cron("*/20 * * * * *")
    world.submit(every(90))
    world.once()
    world.once(NOON + 7 * MINUTE)
    world.once(NOON + 30 * DAY)
    world.cron(timing={"end_at": NOON + 4 * MINUTE})

    world.pass_minutes(10, step=timedelta(seconds=10))

    report = world.verify()
    _clean(world)
    assert (report.jobs, report.runs) == (7, 10 + 30 + 7 + 1 + 1 + 5)
    assert report.lateness.runs == report.runs
    assert report.lateness.max is not None
    assert report.lateness.max <= 10_000


@pytest.mark.parametrize("bound", ["since", "until"])
def test_a_window_that_begins_or_ends_within_a_fires_millisecond(world: World, bound: str) -> None:
    world.cron("* * * * *")
    world.pass_minutes(5, step=timedelta(seconds=10))

    within = NOON + 2 * MINUTE + timedelta(microseconds=300)
    assert world.found(**{bound: within}) == set()


def test_jitter_delays_and_fan_out_multiplies(world: World) -> None:
    job = world.cron(
        timing={"jitter_seconds": 30}, pool="a", policy=Policy(fan_out=("a", "b", "c"))
    )

    world.pass_minutes(5, step=timedelta(seconds=15))

    _clean(world)
    assert len([run for run in world.runs(job) if run.state.is_final]) >= 4 * 3


def test_the_clock_of_a_zone_is_set_forward_and_back() -> None:
    for start in ("2026-03-29T00:30:00+00:00", "2026-10-25T00:30:00+00:00"):
        world = World(start=NOON.fromisoformat(start))
        for text in ("30 * * * *", "30 2 * * *", "15 3 * * *"):
            world.cron(text, timing={"timezone": "Europe/Berlin"})
        world.pass_minutes(4 * 60, step=5 * MINUTE)
        _clean(world)


def test_edits_pauses_and_cancels(world: World) -> None:
    edited, renamed, paused = world.cron(), world.cron(), world.cron()
    cancelled, moved, spread = world.cron(), world.once(NOON + HOUR), world.cron()
    world.pass_minutes(3)
    world.sleep(timedelta(seconds=30))

    world.edit(edited, every(120))
    world.edit(renamed, name="b")
    world.ledger.pause(TENANT, paused.job_id)
    world.ledger.cancel_job(TENANT, cancelled.job_id)
    world.edit(moved, Schedule(ScheduleType.FUTURE, NOON + 5 * MINUTE))
    world.edit(spread, policy=Policy(fan_out=("default", "other")))
    world.pass_minutes(6)
    world.ledger.resume(TENANT, paused.job_id)
    world.pass_minutes(4)

    _clean(world)
    reasons = [run.reason for run in world.runs(paused)]
    assert reasons.count(SkipReason.PAUSED) == 6


@pytest.mark.parametrize("policy", [CatchUpPolicy(), CATCH_ALL, CATCH_NONE])
def test_an_outage_is_caught_up(world: World, policy: CatchUpPolicy) -> None:
    job = world.cron(timing={"catch_up": policy})
    world.pass_minutes(3)

    world.sleep(3 * HOUR)
    world.pass_minutes(3)

    _clean(world)
    assert any(run.missed_count > 60 for run in world.runs(job))


def test_a_row_of_missed_fires_reaches_into_the_window(world: World) -> None:
    world.cron(timing={"catch_up": CATCH_NONE})
    world.pass_minutes(2)
    world.sleep(2 * HOUR)
    world.pass_minutes(2)

    assert world.found(since=NOON + HOUR) == set()


def test_planning_that_waits_is_not_yet_a_missing_run(world: World) -> None:
    world.cron()
    world.pass_minutes(2)

    world.sleep(8 * MINUTE)

    assert world.found(grace=HOUR) == set()


def test_graphs_of_all_rules(world: World) -> None:
    root = world.cron()
    shaky = world.cron(max_retries=0)
    world.verdicts[shaky.job_id] = [Verdict.SUCCESS, Verdict.FAILED] * 20
    for rule in TriggerRule:
        job = world.after(root, shaky, policy=Policy(trigger_rule=rule))
        world.after(job)
    for edge in (
        Upstream(str(root.job_id), EdgeRule.LATEST_SUCCESS, within_seconds=3600),
        Upstream(str(root.job_id), EdgeRule.NEXT_AFTER),
    ):
        world.cron("*/2 * * * *", after=(edge,))

    world.pass_minutes(8)

    _clean(world)
    assert world.verify().excused.runs > 20


def test_one_offs_gate_their_dependents_once(world: World) -> None:
    first, second = world.once(), world.once(NOON + 5 * MINUTE)
    job = world.after(first, second)
    world.pass_minutes(7)
    late = world.after(job)
    world.pass_minutes(1)

    _clean(world)
    assert [run.state for each in (job, late) for run in world.runs(each)] == [
        RunState.SUCCESS,
        RunState.SUCCESS,
    ]


def test_a_graph_whose_jobs_are_cancelled_and_edited(world: World) -> None:
    root, other = world.cron(), world.cron()
    job, gone = world.after(root, other), world.after(root)
    world.pass_minutes(3)
    world.sleep(timedelta(seconds=30))

    world.ledger.cancel_job(TENANT, gone.job_id)
    world.edit(job, after=(Upstream(str(root.job_id)),))
    world.pass_minutes(3)
    world.sleep(timedelta(seconds=30))
    world.edit(root, every(60))
    world.pass_minutes(3)
    world.sleep(timedelta(seconds=30))
    world.ledger.cancel_job(TENANT, root.job_id)
    world.pass_minutes(3)

    _clean(world)


def test_retries_losses_and_holds(world: World) -> None:
    flaky = world.cron(max_retries=2)
    world.verdicts[flaky.job_id] = [Verdict.FAILED, Verdict.TIMED_OUT, Verdict.FAILED] * 2
    held = world.once(policy=Policy(on_ambiguous=OnAmbiguous.HOLD))
    lost = world.once()
    world.claim(*world.due(held, lost), worker="mortal")
    world.sleep(SILENCE * 2)
    world.ledger.requeue_lost(SILENCE)

    world.pass_minutes(5, step=timedelta(seconds=10))
    world.ledger.decide_held(TENANT, world.runs(held)[0].run_id, RunState.SUCCESS)

    _clean(world)
    assert [run.losses for run in (*world.runs(held), *world.runs(lost))] == [1, 1]


@pytest.mark.parametrize("overlap", list(Overlap))
def test_runs_that_take_longer_than_their_interval(world: World, overlap: Overlap) -> None:
    job = world.cron(overlap=overlap)
    for _ in range(4):
        world.sleep(MINUTE)
        world.plan()
        begun = world.claim(*world.due(job))
        world.sleep(timedelta(seconds=30))
        again = world.claim(*world.due(job))
        world.sleep(MINUTE)
        world.plan()
        begun += again + world.claim(*world.due(job))
        for each in begun:
            world.end(each)
    world.pass_minutes(2)

    _clean(world)


def test_limits_and_orders_across_jobs(world: World) -> None:
    for n in range(6):
        world.once(NOON + n * MINUTE, concurrency_key="db", max_concurrency=2)
        world.once(NOON + (6 - n) * MINUTE, ordering_key="line", max_retries=1)
    world.sleep(7 * MINUTE)
    for _ in range(30):
        for claimed in world.claim(*world.due()):
            world.sleep(timedelta(seconds=1))
            world.end(claimed)
        world.ledger.settle_overdue()
    world.pass_minutes(2)

    _clean(world)
    assert world.verify().runs == 12


def test_runs_beside_the_schedule(world: World) -> None:
    job = world.cron("0 * * * *")
    world.ledger.add_run(TENANT, job.job_id, "now:1", world.clock())
    world.ledger.add_run(TENANT, job.job_id, "backfill:b:at_once=1", NOON - 3 * HOUR)

    world.pass_minutes(3)

    _clean(world)
    assert world.verify().excused.runs == 1


def test_a_cascade_with_failures_pauses_and_cancels(world: World) -> None:
    root = world.cron("0 * * * *")
    good, bad, paused, gone = (world.after(root, max_retries=0) for _ in range(4))
    world.after(good, bad)
    world.after(good, bad, policy=Policy(trigger_rule=TriggerRule.ALL_DONE))
    world.after(paused, gone)
    world.verdicts[bad.job_id] = [Verdict.FAILED]
    world.ledger.pause(TENANT, paused.job_id)
    world.ledger.add_run(TENANT, root.job_id, "now:1", world.clock(), cascade=True)
    world.ledger.cancel_job(TENANT, gone.job_id)

    world.pass_minutes(3)

    _clean(world)


def test_calendars_and_what_can_no_longer_be_known_of_them(world: World) -> None:
    world.ledger.save_calendar(TENANT, Calendar("off", dates=(date(2026, 3, 3),)))
    world.cron("0 * * * *", timing={"calendar": CalendarUse(exclude=("off",))})
    world.pass_minutes(20 * 60, step=10 * MINUTE)
    _clean(world)

    world.ledger.save_calendar(TENANT, Calendar("off", dates=(date(2026, 3, 2),)))
    world.pass_minutes(6 * 60, step=10 * MINUTE)

    _clean(world)


def test_a_job_that_was_accepted_while_the_ledger_was_away(world: World) -> None:
    """Its first fires were settled then; it is written down an hour later."""
    schedule = every(60, start_at=NOON)
    timing = fires_from(schedule, NOON, {})
    job = Job(job_id=uuid4(), name="late", tenant=TENANT, schedule=schedule, policy=CALM)
    world.sleep(HOUR)
    world.ledger.submit([Submission(job, timing.first_fire, timing.next_fire)])

    world.pass_minutes(3)

    _clean(world)
    assert world.verify().rules[0].checked >= 4


def test_retired_history_is_not_missed(world: World) -> None:
    world.cron("0 * * * *")
    world.pass_minutes(30 * 60, step=30 * MINUTE)
    world.ledger.drop_partitions(world.clock())

    _clean(world)


def test_a_run_that_was_let_go_stays_when_its_upstream_takes_its_fire_back(world: World) -> None:
    done = world.once()
    world.pass_minutes(1)
    root = world.cron()
    job = world.after(root, done, policy=Policy(trigger_rule=TriggerRule.ONE_SUCCESS))
    world.plan()
    world.sleep(timedelta(seconds=30))

    world.ledger.cancel_job(TENANT, root.job_id)
    world.pass_minutes(6)

    _clean(world)
    assert len(world.runs(job)) > len(world.runs(root))


def test_what_was_let_go_stays_so_when_its_upstream_changes(world: World) -> None:
    """Skipped ahead of its time in two pools, then edited to run in a third."""
    failed = world.once(max_retries=0)
    world.verdicts[failed.job_id] = [Verdict.FAILED]
    world.pass_minutes(1)
    root = world.cron(after=(Upstream(str(failed.job_id)),), policy=Policy(fan_out=("a", "b")))
    job = world.after(root, policy=Policy(trigger_rule=TriggerRule.ALL_DONE))
    world.plan()
    world.sleep(timedelta(seconds=30))

    world.edit(root, after=(), policy=CALM)
    world.sleep(MINUTE)
    [claimed] = world.claim(*world.due(job)[-1:])
    world.end(claimed)
    world.pass_minutes(2)

    _clean(world)


def test_the_next_run_of_an_upstream_may_be_a_row_of_missed_fires(world: World) -> None:
    root = world.cron(timing={"catch_up": CATCH_NONE})
    edge = Upstream(str(root.job_id), EdgeRule.NEXT_AFTER)
    job = world.cron("8 * * * *", after=(edge,), policy=Policy(trigger_rule=TriggerRule.ALL_DONE))
    world.pass_minutes(4)

    world.sleep(2 * HOUR)
    world.plan()
    [row] = [run for run in world.runs(root) if run.missed_to is not None]
    world.ledger.free_dependents([row.run_id])
    [claimed] = world.claim(*world.due(job))
    world.end(claimed)
    world.pass_minutes(2)

    _clean(world)
    assert row.fire_at == NOON + 9 * MINUTE
    assert world.ledger.run(TENANT, claimed.run_id).fire_at == NOON + 8 * MINUTE


def test_jobs_of_one_key_may_name_different_limits(world: World) -> None:
    narrow = [world.once(concurrency_key="db", max_concurrency=1) for _ in range(2)]
    [first] = world.claim(*world.due(*narrow))
    world.end(first)  # and whoever was parked has the slot from here on
    wide = world.once(concurrency_key="db", max_concurrency=2)

    [early] = world.claim(*world.due(wide))
    world.sleep(timedelta(seconds=1))
    [late] = world.claim(*world.due(*narrow))
    world.sleep(timedelta(seconds=1))
    for claimed in (early, late):
        world.end(claimed)

    _clean(world)


def test_a_line_waits_for_whoever_is_blocked_at_its_head(world: World) -> None:
    root = world.once(NOON + 3 * HOUR)
    world.after(root, ordering_key="line")
    behind = world.once(NOON + 4 * HOUR, ordering_key="line")
    world.sleep(4 * HOUR + MINUTE)
    world.claim(*world.due(root))
    world.claim(*world.due(behind))
    world.sleep(HOUR)
    world.ledger.heartbeat("w1", "default", 1)

    _clean(world)
    assert world.runs(behind)[0].state is RunState.PARKED


def test_percentiles_are_latenesses_that_really_were(world: World) -> None:
    jobs = [world.once() for _ in range(100)]
    for job in jobs:
        world.sleep(timedelta(milliseconds=10))
        [claimed] = world.claim(*world.due(job))
        world.end(claimed)

    late = world.verify().lateness

    assert (late.runs, late.p50, late.p99, late.max) == (100, 500, 990, 1000)
