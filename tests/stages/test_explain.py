"""Explain: a sentence for every state there is, with names and times."""

import re
from datetime import timedelta
from itertools import product
from typing import Any
from uuid import UUID

import msgspec
import pytest

from lamplighter.domain.job import Job, JobStatus
from lamplighter.domain.policy import Overlap, ScheduleType
from lamplighter.domain.policy import Upstream as Edge
from lamplighter.domain.run import Run
from lamplighter.domain.schedule import Schedule
from lamplighter.domain.states import RunState, SkipReason
from lamplighter.stages.explain import Facts, Upstream, explain_job, explain_run
from tests.functions.world import NOON

SECOND = timedelta(seconds=1)
TIME = re.compile(r"2030-01-01T\d\d:\d\d:\d\d\.\d{3}Z")
FACTS = Facts(now=NOON, next_fire=NOON + 60 * SECOND, upstreams=(Upstream("extract", None),))


def _job(status: JobStatus = JobStatus.SCHEDULED, **fields: Any) -> Job:
    schedule = fields.pop("schedule", Schedule(ScheduleType.CRON, cron_expression="* * * * *"))
    return Job(
        job_id=UUID(int=1), name="report", schedule=schedule, status=status, updated_at=NOON,
        **fields,
    )  # fmt: skip


def _run(state: RunState, **fields: Any) -> Run:
    begun = state not in (RunState.SCHEDULED, RunState.BLOCKED, RunState.PARKED, RunState.SKIPPED)
    given: dict[str, Any] = {
        "run_id": UUID(int=2), "job_id": UUID(int=1), "tenant": "default", "pool": "eu",
        "origin": "schedule", "state": state, "fire_at": NOON - 9 * SECOND,
        "due_at": NOON - 9 * SECOND, "priority": 5, "fence": 1, "attempt_number": 1, "losses": 0,
        "created_at": NOON - 60 * SECOND, "modified_time": NOON,
        "start_time": NOON - 8 * SECOND if begun else None,
        "end_time": NOON if state.is_final else None,
        "wake_at": NOON + 5 * SECOND, "executor_id": "executor-007" if begun else None,
        "error_message": "boom",
    }  # fmt: skip
    return Run(**given | fields)


REASONS: list[SkipReason | None] = [None, *SkipReason]


@pytest.mark.parametrize(("state", "status"), list(product(RunState, JobStatus)))
def test_every_state_of_every_job_gives_one_sentence(state: RunState, status: JobStatus) -> None:
    reasons = REASONS if state is RunState.SKIPPED else [None]
    for reason, retries, losses in product(reasons, (1, 3), (0, 2)):
        run = _run(state, reason=reason, attempt_number=retries, losses=losses)
        for told in (
            explain_run(_job(status), run, FACTS),
            explain_job(_job(status), run, FACTS),
        ):
            assert told.startswith("Job 'report' ")
            assert told.endswith(".")
            assert "\n" not in told
            assert "None" not in told
            is_told = status is JobStatus.REJECTED or state is RunState.CANCELLING
            assert TIME.search(told) or is_told, told


@pytest.mark.parametrize("status", JobStatus)
def test_a_job_without_runs_has_a_sentence_too(status: JobStatus) -> None:
    told = explain_job(_job(status), None, FACTS)
    assert told.startswith("Job 'report' ")
    assert TIME.search(told) or status in (JobStatus.REJECTED, JobStatus.PAUSED)


@pytest.mark.parametrize(
    ("job", "run", "facts", "words"),
    [
        ({}, {"state": RunState.SCHEDULED, "due_at": NOON + 90 * SECOND}, {},
         "has not run yet, because it is due at 2030-01-01T12:01:30.000Z, in 90 s"),
        ({}, {"state": RunState.SCHEDULED}, {},
         "due at 2030-01-01T11:59:51.000Z, 9 s ago, and no worker of pool 'eu' has claimed it yet"),
        ({}, {"state": RunState.SCHEDULED}, {"live_workers": 0},
         "9 s ago, and no worker of pool 'eu' was heard of in the last 15 s"),
        ({}, {"state": RunState.SCHEDULED, "losses": 2}, {}, "lost its worker 2 times"),
        ({"status": JobStatus.PAUSED}, {"state": RunState.SCHEDULED}, {}, "it is paused"),
        ({}, {"state": RunState.BLOCKED}, {}, "waits for its upstreams: 'extract' (no run yet)"),
        ({"ordering_key": "k"}, {"state": RunState.PARKED}, {}, "its turn in the order of 'k'"),
        ({"max_concurrency": 3}, {"state": RunState.PARKED}, {}, "'report' may run 3 at once"),
        ({"overlap": Overlap.QUEUE}, {"state": RunState.PARKED}, {}, "its earlier run to end"),
        ({}, {"state": RunState.RUNNING}, {},
         "has been running since 2030-01-01T11:59:52.000Z on executor-007."),
        ({}, {"state": RunState.RUNNING, "attempt_number": 2}, {}, "attempt 2 of 4"),
        ({}, {"state": RunState.RETRYING, "attempt_number": 2}, {},
         "failed at attempt 1 of 4 (boom) and tries again at 2030-01-01T12:00:05.000Z"),
        ({}, {"state": RunState.HELD}, {}, "executor-007 fell silent"),
        ({}, {"state": RunState.CANCELLING}, {}, "has not confirmed that yet"),
        ({}, {"state": RunState.SUCCESS}, {}, "succeeded at 2030-01-01T12:00:00.000Z, on time"),
        ({}, {"state": RunState.SUCCESS, "start_time": NOON}, {},
         "9 s late, because no worker of pool 'eu' claimed it sooner"),
        ({}, {"state": RunState.SUCCESS, "start_time": NOON, "excused": True}, {},
         "because it waited for an upstream or for a slot"),
        ({}, {"state": RunState.SUCCESS, "start_time": NOON, "created_at": NOON - SECOND}, {},
         "because it was written down only at 2030-01-01T11:59:59.000Z"),
        ({}, {"state": RunState.FAILED, "attempt_number": 4}, {}, "after 4 attempts: boom"),
        ({"timeout_seconds": 7}, {"state": RunState.TIMED_OUT}, {}, "ran out of its time of 7 s"),
        ({}, {"state": RunState.CANCELLED, "start_time": None}, {}, "before it started"),
        ({"overlap": Overlap.FORBID}, {"state": RunState.SKIPPED, "reason": SkipReason.OVERLAP}, {},
         "because an earlier run was unfinished and its overlap is forbid"),
        ({}, {"state": RunState.SKIPPED, "reason": SkipReason.MISSED_WINDOW, "missed_count": 3,
              "missed_to": NOON}, {},
         "did not run at 3 fires from 2030-01-01T11:59:51.000Z to 2030-01-01T12:00:00.000Z"),
        ({}, {"state": RunState.SKIPPED, "reason": SkipReason.MISSED_WINDOW}, {},
         "catch-up (latest, 3600 s) gave the fire up"),
        ({}, {"state": RunState.SKIPPED, "reason": SkipReason.UPSTREAM_FAILED,
              "error_message": "upstream extract ended FAILED"}, {},
         "because upstream extract ended FAILED"),
    ],
)  # fmt: skip
def test_the_sentence_says_why(
    job: dict[str, Any], run: dict[str, Any], facts: dict[str, Any], words: str
) -> None:
    known = msgspec.structs.replace(FACTS, next_fire=None, **facts)
    assert words in explain_run(_job(**job), _run(**run), known)


def test_a_dependent_without_runs_names_its_upstreams() -> None:
    job = _job(schedule=Schedule(ScheduleType.AFTER), after=(Edge(str(UUID(int=3))),))
    seven = tuple(Upstream(f"up {n}", "RUNNING") for n in range(7))
    told = explain_job(job, None, Facts(NOON, upstreams=seven))
    assert "'up 0' (RUNNING)" in told
    assert told.endswith("and 2 more.")


def test_no_time_of_pausing_is_claimed() -> None:
    told = explain_job(_job(JobStatus.PAUSED), None, FACTS)

    assert told == "Job 'report' is paused; its fires are skipped until it is resumed."


def test_a_fire_that_is_skipped_ahead_of_its_time_will_not_run() -> None:
    gone = {"reason": SkipReason.UPSTREAM_FAILED, "fire_at": NOON + 60 * SECOND}
    told = explain_run(_job(), _run(RunState.SKIPPED, **gone), FACTS)

    assert "will not run at 2030-01-01T12:01:00.000Z, because" in told


def test_a_long_error_is_cut_and_kept_on_one_line() -> None:
    told = explain_run(_job(), _run(RunState.FAILED, error_message="a\nb " * 500), FACTS)
    assert len(told) < 500
    assert "\n" not in told
