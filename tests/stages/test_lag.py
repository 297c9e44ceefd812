"""Planning and the claim: of every fire they think the same, jitter or not."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from lamplighter.domain.ids import MILLISECOND
from lamplighter.domain.job import Job, JobStatus
from lamplighter.domain.judge import LATE_GRACE, MayStart, Skip, judge
from lamplighter.domain.lag import Lag, lag_of
from lamplighter.domain.policy import CatchUp, CatchUpPolicy, ScheduleType
from lamplighter.domain.run import NewRun, Run, new_runs
from lamplighter.domain.schedule import Schedule, count_fires
from lamplighter.domain.states import SkipReason
from lamplighter.ports.ledger import DueSchedule
from lamplighter.stages.plan import plan_one
from tests.domain.schedule.helpers import laws

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)

jobs = st.builds(
    lambda number, interval, jitter, policy, window, limit, status: Job(
        job_id=UUID(int=number),
        name="a job",
        status=status,
        schedule=Schedule(
            ScheduleType.INTERVAL,
            interval_seconds=interval,
            start_at=NOON,
            jitter_seconds=jitter,
            catch_up=CatchUpPolicy(policy, window, limit),
        ),
    ),
    st.integers(0, (1 << 128) - 1),
    st.sampled_from([7, 60, 600]),
    st.sampled_from([0, 30, 90, 1000, 7200]),
    st.sampled_from(CatchUp),
    st.sampled_from([0, 600, 3600, 86_400]),
    st.sampled_from([1, 5, 100]),
    st.sampled_from([JobStatus.SCHEDULED, JobStatus.PAUSED]),
)
lags = st.integers(0, 4 * 3600).map(lambda seconds: seconds * SECOND)


def as_run(new: NewRun) -> Run:
    return Run(
        run_id=new.run_id, job_id=new.job.job_id, tenant=new.job.tenant, pool=new.pool,
        origin=new.origin, state=new.state, fire_at=new.fire_at, due_at=new.due_at, priority=5,
        fence=0, attempt_number=1, losses=0, created_at=NOON, modified_time=NOON,
    )  # fmt: skip


def lagging(job: Job, now: datetime) -> Lag:
    return lag_of(job, NOON, now, {})


@laws(60)
@given(jobs, st.integers(0, 60))
def test_no_fire_is_missed_within_a_minute_of_when_it_was_due(job: Job, seconds: int) -> None:
    """Whatever catch-up says, and however many fires have followed it by then."""
    [new] = new_runs(job, NOON)
    running = Job(job_id=job.job_id, name="a job", schedule=job.schedule)
    late = min(seconds * SECOND, LATE_GRACE)
    assert judge(as_run(new), running, 0, new.due_at + late, {}) == MayStart()


@laws(60)
@given(jobs, lags)
def test_what_planning_lets_run_the_claim_lets_run_and_what_it_gives_up_is_late(
    job: Job, lag: timedelta
) -> None:
    now = NOON + lag
    running = Job(job_id=job.job_id, name="a job", schedule=job.schedule)
    planned = plan_one(DueSchedule(running, NOON), now, now, {})
    for fire in (*planned.fires[:3], *planned.fires[-3:]):
        [new] = new_runs(running, fire)
        assert judge(as_run(new), running, 0, max(now, new.due_at), {}) == MayStart()
    for gap in planned.missed:
        [last] = new_runs(running, gap.last)
        assert judge(as_run(last), running, 0, now, {}) == Skip(SkipReason.MISSED_WINDOW)


@laws(60)
@given(jobs, lags)
def test_every_fire_of_a_lag_is_accounted_for_once(job: Job, lag: timedelta) -> None:
    now = NOON + lag
    past = lagging(job, now).settled
    runs = past.run
    fires = count_fires(job.schedule, NOON, now + MILLISECOND)
    assert len(runs) + sum(gap.count for gap in past.missed) == fires
    assert len(runs) == len(set(runs))
    assert not any(gap.from_fire <= fire <= gap.to_fire for gap in past.missed for fire in runs)
    assert past.next_fire_at is not None
    assert now < past.next_fire_at


@laws(60)
@given(jobs, lags)
def test_what_a_pause_has_passed_over_does_not_run(job: Job, lag: timedelta) -> None:
    past = lagging(job, NOON + lag)
    if job.status is JobStatus.PAUSED:
        assert (past.settled.run, past.reason) == ((), SkipReason.PAUSED)
    else:
        assert past.reason is SkipReason.MISSED_WINDOW
