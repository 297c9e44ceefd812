"""What is told of a job on `job-events`, to whoever reads along."""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from uuid import UUID, uuid4

import pytest

from lamplighter.contracts.bundles import read_job_events
from lamplighter.contracts.messages import JobEvent, JobEventType
from lamplighter.contracts.topics import JOB_EVENTS
from lamplighter.ports.bus import Consumer
from tests.e2e.stack import FAIL, Stack, instant, soon, until

pytestmark = pytest.mark.usefixtures("checked")

SUBMITTED, SCHEDULED = JobEventType.SUBMITTED, JobEventType.SCHEDULED
RUNNING, COMPLETED = JobEventType.RUNNING, JobEventType.COMPLETED


class Listener:
    """A reader of its own, beside the recorder."""

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer
        self._heard: dict[UUID, list[JobEvent]] = defaultdict(list)

    def hear(self, job_id: str, *kinds: JobEventType) -> list[JobEvent]:
        """All that was told of the job, once each of these kinds was."""
        return until(lambda: self._hear(UUID(job_id), set(kinds)), f"{kinds} of {job_id}")

    def _hear(self, job_id: UUID, kinds: set[JobEventType]) -> list[JobEvent] | None:
        records = self._consumer.poll(1000, 0.1)
        for _, event in read_job_events(records).good:
            self._heard[event.job_id].append(event)
        self._consumer.commit(records)
        told = self._heard[job_id]
        return told if kinds <= {event.event_type for event in told} else None


@pytest.fixture
def listener(stack: Stack) -> Iterator[Listener]:
    with (
        stack.bus_client() as bus,
        closing(bus.consumer(f"listener-{uuid4().hex}", [JOB_EVENTS.name])) as consumer,
    ):
        yield Listener(consumer)


def test_of_a_one_off_the_whole_life_is_told(stack: Stack, listener: Listener) -> None:
    job = stack.submit()
    [run] = stack.ended(job)

    told = listener.hear(job, SUBMITTED, SCHEDULED, RUNNING, COMPLETED)

    kinds = [event.event_type for event in told]
    assert kinds.index(SUBMITTED) < kinds.index(SCHEDULED)
    [scheduled] = [event for event in told if event.event_type is SCHEDULED]
    assert (str(scheduled.run_id), scheduled.pool) == (run["run_id"], "default")
    assert scheduled.due_at == instant(run["due_at"])


def test_of_a_future_job_it_is_told_that_its_run_is_scheduled(
    stack: Stack, listener: Listener
) -> None:
    job = stack.submit(schedule_type="FUTURE", schedule_time=soon(3600), fan_out=["default", "eu"])

    told = listener.hear(job, SUBMITTED, SCHEDULED)

    scheduled = [event for event in told if event.event_type is SCHEDULED]
    assert {event.pool for event in scheduled} == {"default", "eu"}
    fire = instant(stack.get(f"/jobs/{job}")["schedule_time"])
    assert [event.due_at for event in scheduled] == [fire, fire]
    stack.cancel(job)


def test_a_failure_is_told_and_so_is_what_it_decides(stack: Stack, listener: Listener) -> None:
    failing = stack.submit(target=FAIL, max_retries=0)
    stack.ended(failing)
    late = stack.submit(after=[failing])

    listener.hear(failing, SUBMITTED, SCHEDULED, RUNNING, JobEventType.FAILED)
    [submitted, skipped] = listener.hear(late, SUBMITTED, JobEventType.SKIPPED)

    assert (submitted.event_type, skipped.reason) == (SUBMITTED, "upstream_failed")
