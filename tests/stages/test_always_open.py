"""Always open: jobs are accepted while the ledger is away, and written down when it is back."""

import socket
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
import pytest

from lamplighter.adapters.memory.bus import MemoryBus
from lamplighter.adapters.memory.listing import MemoryQueryLedger
from lamplighter.adapters.postgres.listing import PostgresQueryLedger
from lamplighter.contracts.http_errors import BodyTooLarge
from lamplighter.contracts.msk import decode_event
from lamplighter.contracts.requests import read_request, request_messages
from lamplighter.contracts.topics import JOB_REQUESTS
from lamplighter.domain.errors import InvalidJob, LedgerUnavailable
from lamplighter.domain.ids import derived_job_id
from lamplighter.domain.job import JobStatus
from lamplighter.domain.states import RunState
from lamplighter.ports.bus import MAX_MESSAGE_BYTES, BusUnavailable, Message, Record
from lamplighter.stages.clock import LedgerClock, this_machine
from lamplighter.stages.defer import Deferral
from lamplighter.stages.reach import Reach
from lamplighter.stages.requests import Persisted, persist
from tests.functions.calling import recorded
from tests.functions.world import NOON, World

KEY = {"Idempotency-Key": "k"}


class Outage:
    """A ledger that can be taken away; what it is asked meanwhile is counted."""

    def __init__(self, ledger: MemoryQueryLedger) -> None:
        self._ledger = ledger
        self.is_away = False
        self.asked = 0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._ledger, name)
        return self._unless_away(found) if callable(found) else found

    def _unless_away(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def asked(*args: Any, **named: Any) -> Any:
            self.asked += 1
            if self.is_away:
                raise LedgerUnavailable("host db.internal: connection refused")
            return call(*args, **named)

        return asked


class Open(World):
    """A world whose ledger may be away, with a bus beside it."""

    def __init__(self) -> None:
        super().__init__()
        self.bus = MemoryBus()
        self.bus.ensure_topics([JOB_REQUESTS])
        self.reader = self.bus.consumer("recorder", [JOB_REQUESTS.name])
        self.outage = Outage(self.ledger)
        self.steady = 0.0
        reach = Reach(steady=lambda: self.steady)
        clock = LedgerClock(
            lambda: reach(self.outage.now), steady=lambda: self.steady, otherwise=lambda: NOON
        )
        self.desk = msgspec.structs.replace(
            self.desk,
            ledger=self.outage,
            now=clock.now,
            deferral=Deferral(self.publish, reach),
        )
        self.publish_now: Callable[[Sequence[Message]], None] = self.bus.publish

    def publish(self, batch: Sequence[Message]) -> None:
        self.publish_now(batch)

    def lose_ledger(self) -> None:
        self.outage.is_away = True

    def regain_ledger(self) -> None:
        self.outage.is_away = False
        self.steady += 60

    def records(self) -> list[Record]:
        found: list[Record] = []
        while batch := self.reader.poll(100, 0.0):
            found += batch
            self.reader.commit(batch)
        return found

    def record(self) -> Persisted:
        """What the recorder does with the requests that are there."""
        return persist(self.desk, self.records())


@pytest.fixture
def world() -> Open:
    return Open()


def test_a_job_is_accepted_without_the_ledger_and_runs_when_it_is_back(world: Open) -> None:
    world.lose_ledger()
    accepted = world.call("POST", "/jobs", {"name": "x", "payload": {"ä": [1, None]}})
    assert (accepted.status, accepted.body["status"]) == (202, "ACCEPTED")
    job_id = accepted.body["job_id"]
    assert accepted.headers["location"] == f"/jobs/{job_id}"
    assert world.call("GET", f"/jobs/{job_id}").status == 503

    world.regain_ledger()
    persisted = world.record()

    assert persisted.created == {UUID(job_id)}
    job = world.call("GET", f"/jobs/{job_id}").body
    assert (job["status"], job["payload"]) == ("SCHEDULED", {"ä": [1, None]})
    [due] = world.hinted
    assert world.ledger.run("default", due.run_id).state is RunState.SCHEDULED


def test_every_field_survives_the_way_over_the_bus(world: Open) -> None:
    body = {
        "name": "x",
        "target": {"type": "http", "url": "https://example.com", "headers": {"a": "b"}},
        "cron_expression": "0 9 * * MON",
        "timezone": "Europe/Berlin",
        "end_at": "2031-02-01T00:00:00.000Z",
        "catch_up": {"policy": "all", "window_seconds": 60, "limit": 3},
        "dst": {"gap": "skip", "overlap": "both"},
        "backoff": {"base_seconds": 2.0, "factor": 3.0, "cap_seconds": 10.0, "jitter": False},
        "expires_at": "2031-01-01T00:00:00.000Z",
        "fan_out": ["eu", "us"],
        "ordering_key": "customer-7",
        "max_concurrency": 2,
        "concurrency_key": "printer",
        "tags": ["a", "b"],
        "metadata": {"team": "x"},
        "max_retries": 0,
    }
    direct = world.call.submit(**body)
    world.lose_ledger()
    deferred = world.call("POST", "/jobs", body).body["job_id"]
    world.regain_ledger()
    world.record()

    jobs = [world.ledger.job("default", UUID(each)) for each in (direct, deferred)]

    assert msgspec.structs.replace(jobs[1], job_id=jobs[0].job_id) == jobs[0]


def test_a_retry_on_either_path_makes_no_second_job(world: Open) -> None:
    body = {"name": "x"}
    world.lose_ledger()
    first = world.call("POST", "/jobs", body, headers=KEY)
    second = world.call("POST", "/jobs", body, headers=KEY)
    world.regain_ledger()
    third = world.call("POST", "/jobs", body, headers=KEY)

    persisted = world.record()

    ids = {answer.body["job_id"] for answer in (first, second, third)}
    assert ids == {str(derived_job_id("default", "k"))}
    assert [answer.status for answer in (first, second, third)] == [202, 202, 201]
    assert persisted == Persisted()
    assert len(world.ledger.runs("default", derived_job_id("default", "k"))) == 1


def test_a_record_that_comes_twice_is_one_job(world: Open) -> None:
    world.lose_ledger()
    world.call("POST", "/jobs", {"name": "x"})
    world.regain_ledger()
    records = world.records()
    assert persist(world.desk, records + records).created
    assert persist(world.desk, records) == Persisted()
    assert len(world.call("GET", "/jobs").body["jobs"]) == 1


def test_a_time_that_passed_meanwhile_is_no_reason_to_refuse(world: Open) -> None:
    world.lose_ledger()
    body = {"name": "x", "schedule_time": (NOON + timedelta(minutes=1)).isoformat()}
    job_id = UUID(world.call("POST", "/jobs", body).body["job_id"])
    world.regain_ledger()
    world.wind(hours=3)

    world.record()

    [run] = world.ledger.runs("default", job_id)
    assert (run.fire_at, run.wake_at) == (NOON + timedelta(minutes=1), world.clock())
    assert world.claim(run.run_id)


def test_an_interval_keeps_the_start_that_it_was_accepted_with(world: Open) -> None:
    world.lose_ledger()
    job_id = world.call("POST", "/jobs", {"name": "x", "interval_seconds": 60}).body["job_id"]
    world.regain_ledger()
    world.wind(minutes=10, seconds=30)
    world.record()
    assert world.ledger.job("default", UUID(job_id)).schedule.start_at == NOON


def test_a_batch_and_items_are_accepted_in_the_same_shape(world: Open) -> None:
    world.lose_ledger()
    batch = world.call("POST", "/jobs/batch", [{"name": "a"}, {"name": "b"}])
    items = world.call("POST", "/jobs", {"name": "c", "items": [1, 2, 3]})
    assert (batch.status, len(batch.body["job_ids"]), batch.body["status"]) == (202, 2, "ACCEPTED")
    assert (items.status, len(items.body["job_ids"]), items.body["status"]) == (202, 3, "ACCEPTED")

    world.regain_ledger()
    world.record()

    jobs = [world.ledger.job("default", UUID(each)) for each in items.body["job_ids"]]
    assert [job.payload for job in jobs] == [1, 2, 3]
    assert {job.policy.metadata["group_id"] for job in jobs} == {items.body["group_id"]}
    names = [world.ledger.job("default", UUID(each)).name for each in batch.body["job_ids"]]
    assert names == ["a", "b"]


def test_a_large_batch_is_several_messages_that_each_fit(world: Open) -> None:
    world.lose_ledger()
    jobs = [{"name": f"{n}", "payload": "x" * 200_000} for n in range(12)]

    made = world.call("POST", "/jobs/batch", jobs)

    records = world.records()
    assert 3 <= len(records) <= 4
    assert all(len(each.value) <= MAX_MESSAGE_BYTES - 100 for each in records)
    world.regain_ledger()
    assert {str(each) for each in persist(world.desk, records).created} == set(made.body["job_ids"])


def test_a_job_that_no_message_can_carry_is_refused_clearly(world: Open) -> None:
    world.lose_ledger()
    world.call("POST", "/jobs", {"name": "big", "payload": "x" * 2_000})
    [record] = world.records()
    jobs = read_request(record.value).jobs
    assert request_messages(jobs, NOON, most_bytes=3_000)
    with pytest.raises(BodyTooLarge, match=r"Job 'big' has 2,\d+ bytes"):
        request_messages(jobs, NOON, most_bytes=2_000)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/jobs", {"name": "x", "after": ["{job}"]}),
        ("POST", "/jobs/batch", [{"name": "x"}, {"name": "y", "after": ["{job}"]}]),
        ("POST", "/jobs", {"name": "x", "cron_expression": "@daily", "calendar": "holidays"}),
        ("POST", "/workflows", {"jobs": [{"name": "x"}]}),
        ("PUT", "/jobs/{job}", {"name": "y"}),
        ("DELETE", "/jobs/{job}", None),
        ("POST", "/jobs/{job}/runNow", None),
        ("POST", "/jobs/{job}/pause", None),
    ],
)
def test_what_only_the_ledger_can_decide_is_a_503(
    world: Open, method: str, path: str, body: object
) -> None:
    job = world.call.submit()
    world.lose_ledger()
    text = None if body is None else msgspec.json.encode(body).decode().replace("{job}", job)

    refused = world.call(method, path.replace("{job}", job), text)

    assert (refused.status, refused.error["code"]) == (503, "ledger_unavailable")
    assert "db.internal" not in str(refused.body)
    assert world.records() == []


@pytest.mark.parametrize("headers", [{}, KEY])
@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": "x", "target": {"type": "htpp"}}, "target.type"),
        ({"name": "x", "colour": 1}, "colour"),
        ({}, "name"),
    ],
)
def test_what_is_wrong_is_refused_without_the_ledger_too(
    world: Open, body: dict[str, object], field: str, headers: dict[str, str]
) -> None:
    world.lose_ledger()
    refused = world.call("POST", "/jobs", body, headers=headers)
    assert (refused.status, refused.error["field"]) == (422, field)
    assert world.records() == []


def test_whether_a_past_time_was_right_once_only_the_ledger_knows(world: Open) -> None:
    world.lose_ledger()
    body = {"name": "x", "schedule_time": "2029-01-01T00:00:00Z"}
    assert world.call("POST", "/jobs", body).status == 422
    assert world.call("POST", "/jobs", body, headers=KEY).status == 503


def test_without_ledger_and_bus_nothing_is_accepted(world: Open) -> None:
    def away(_: Sequence[Message]) -> None:
        raise BusUnavailable("broker kafka.internal: connection refused")

    world.lose_ledger()
    world.publish_now = away
    refused = world.call("POST", "/jobs", {"name": "x"})
    assert (refused.status, refused.error["code"]) == (503, "ledger_unavailable")
    assert "internal" not in refused.error["message"]


def test_a_ledger_that_is_away_is_not_asked_by_everybody(world: Open) -> None:
    world.call.submit()
    world.lose_ledger()
    before = world.outage.asked
    for _ in range(10):
        assert world.call("POST", "/jobs", {"name": "x"}).status == 202
    assert world.outage.asked == before + 1

    world.regain_ledger()
    world.call.submit()


def _persist_with(world: Open, check: Callable[[dict[str, Any]], object]) -> Persisted:
    desk = msgspec.structs.replace(world.desk, check_target=check)
    return persist(desk, world.records())


def test_what_must_be_refused_later_is_a_rejected_job_with_its_reason(world: Open) -> None:
    def gone(target: dict[str, Any]) -> None:
        if target["type"] == "http":
            raise InvalidJob("target.type", "http targets are closed here")

    world.lose_ledger()
    http = {"type": "http", "url": "https://example.com"}
    jobs = [{"name": "closed", "target": http}, {"name": "fine"}]
    closed, fine = world.call("POST", "/jobs/batch", jobs).body["job_ids"]
    world.regain_ledger()

    persisted = _persist_with(world, gone)

    assert (persisted.rejected, persisted.created) == ({UUID(closed)}, {UUID(fine)})
    shown = world.call("GET", f"/jobs/{closed}").body
    assert (shown["status"], shown["name"]) == ("REJECTED", "closed")
    assert shown["rejection"] == "target.type: http targets are closed here"
    told = world.call("GET", f"/jobs/{closed}/explain").body["explanation"]
    assert "http targets are closed here" in told
    assert world.ledger.runs("default", UUID(closed)) == []
    assert world.call("POST", f"/jobs/{closed}/runNow").status == 409
    assert world.ledger.job("default", UUID(fine)).status is JobStatus.SCHEDULED


def test_a_key_that_was_used_for_another_job_changes_nothing(world: Open) -> None:
    first = world.call("POST", "/jobs", {"name": "first"}, headers=KEY).body["job_id"]
    world.lose_ledger()
    assert world.call("POST", "/jobs", {"name": "second"}, headers=KEY).status == 202
    other = world.call("POST", "/jobs", {"name": "other"}).body["job_id"]
    world.regain_ledger()

    persisted = world.record()

    [refused] = persisted.refused
    assert first in refused.why
    assert read_request(refused.record.value).jobs[0].job.name == "second"
    assert world.ledger.job("default", UUID(first)).name == "first"
    assert persisted.created == {UUID(other)}


def test_what_cannot_be_read_is_handed_back_and_the_rest_is_written(world: Open) -> None:
    world.lose_ledger()
    job_id = world.call("POST", "/jobs", {"name": "x"}).body["job_id"]
    world.bus.publish([Message(JOB_REQUESTS.name, b'{"jobs": 7}', b"?")])
    world.regain_ledger()

    persisted = world.record()

    assert [each.record.value for each in persisted.refused] == [b'{"jobs": 7}']
    assert persisted.created == {UUID(job_id)}


def test_the_recorded_event_is_one_that_can_be_persisted(world: Open) -> None:
    records = decode_event(recorded("recorder_requests"))
    assert {record.topic for record in records} == {JOB_REQUESTS.name}
    created = persist(world.desk, records).created
    jobs = {world.ledger.job("default", job_id).name for job_id in created}
    assert jobs == {"Daily Data Cleanup", "Welcome mail"}


def test_a_postgres_that_hangs_closes_no_door(world: Open) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes the call, and says nothing
        ledger = PostgresQueryLedger(f"postgresql://me@127.0.0.1:{silent.getsockname()[1]}/x")
        reach = Reach(seconds=0.2)
        world.desk = msgspec.structs.replace(
            world.desk,
            ledger=ledger,
            now=LedgerClock(lambda: reach(ledger.now), otherwise=this_machine).now,
            deferral=Deferral(world.bus.publish, reach),
        )
        assert world.call("POST", "/jobs", {"name": "x"}).status == 202
    ledger.close()
    [record] = world.records()
    assert read_request(record.value).jobs[0].first_fire is not None


def test_a_ledger_that_is_away_again_leaves_the_records_for_later(world: Open) -> None:
    world.lose_ledger()
    world.call("POST", "/jobs", {"name": "x"})
    records = world.records()
    with pytest.raises(LedgerUnavailable):
        persist(world.desk, records)
    world.regain_ledger()
    assert len(persist(world.desk, records).created) == 1


def test_the_clock_goes_on_by_its_last_offset_and_starts_without() -> None:
    instants: list[datetime] = []
    steady = [0.0]

    def read() -> datetime:
        if not instants:
            raise LedgerUnavailable("away")
        return instants.pop()

    machine = datetime(2020, 1, 1, tzinfo=UTC)
    clock = LedgerClock(read, steady=lambda: steady[0], otherwise=lambda: machine)
    assert clock.now() == machine
    instants.append(NOON)
    assert clock.now() == machine, "asked again only after a second"
    steady[0] = 1.0
    assert clock.now() == NOON
    steady[0] = 100.0
    assert clock.now() == NOON + timedelta(seconds=99)
    with pytest.raises(LedgerUnavailable):
        LedgerClock(read).now()
