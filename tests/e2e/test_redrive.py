"""Messages that nobody can handle are put aside, and given back when somebody says so."""

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest

from lamplighter.contracts.dead_letters import dead_letter
from lamplighter.contracts.requests import request_messages
from lamplighter.contracts.topics import DEPENDENCY_EVENTS, JOB_REQUESTS
from lamplighter.domain.ids import epoch_ms, instant_of, new_job_id
from lamplighter.domain.job import Job
from lamplighter.domain.policy import ScheduleType
from lamplighter.domain.run import Submission
from lamplighter.domain.schedule import Schedule
from lamplighter.ports.bus import Message, Record
from tests.e2e.stack import Stack, until

pytestmark = pytest.mark.usefixtures("checked")


def test_a_poison_message_stops_nobody_and_dies_again_when_it_is_given_back(stack: Stack) -> None:
    key = uuid4().hex
    with stack.bus_client() as bus:
        bus.publish([Message(DEPENDENCY_EVENTS.name, b"poison", key.encode())])
    first = stack.submit()
    stack.ended(stack.submit(after=[first]))
    [letter] = until(lambda: _letters(stack, key, "--list"), "it is put aside")

    [returned] = _letters(stack, key) or []

    assert (letter["topic"], letter["function"], letter["fate"]) == (
        DEPENDENCY_EVENTS.name,
        "resolver",
        "dead",
    )
    assert (returned["fate"], returned["offset"]) == ("returned", letter["offset"])
    again = until(lambda: _letters(stack, key, "--list"), "it is put aside again")
    assert again[0]["at"] > letter["at"]


def test_a_job_in_a_letter_runs_when_it_is_given_back(stack: Stack) -> None:
    now = instant_of(epoch_ms(datetime.now(UTC)))
    schedule = Schedule(ScheduleType.FUTURE, now)
    job = Job(job_id=new_job_id(now), name="given up once", schedule=schedule)
    [sent] = request_messages([Submission(job, now, None)], now)
    died = Record(JOB_REQUESTS.name, 0, 0, sent.key, sent.value, 0)
    with stack.bus_client() as bus:
        bus.publish([dead_letter(died, "the recorder had a bug", "recorder")])

    told = stack.dead_letters("--topic", JOB_REQUESTS.name)

    assert [each["fate"] for each in told if each["topic"] == JOB_REQUESTS.name] == ["returned"]
    until(lambda: stack.ask("GET", f"/jobs/{job.job_id}").status == 200 or None, "it is a job")
    assert [run["status"] for run in stack.ended(str(job.job_id))] == ["SUCCESS"]


def _letters(stack: Stack, key: str, *options: str) -> list[dict[str, Any]] | None:
    """Of this message; None where there is none."""
    told = stack.dead_letters("--topic", DEPENDENCY_EVENTS.name, *options)
    return [each for each in told if each["key"] == key] or None
