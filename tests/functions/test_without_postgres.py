"""PostgreSQL itself goes away and comes back: what was accepted meanwhile is there, once."""

from pathlib import Path
from uuid import UUID

from infra.local.postgres import Postgres
from infra.local.valkey import Valkey
from lamplighter.adapters.postgres.listing import PostgresQueryLedger
from lamplighter.adapters.postgres.migrate import migrate
from lamplighter.adapters.streams.bus import StreamsBus
from lamplighter.contracts.topics import JOB_REQUESTS
from lamplighter.domain.states import RunState
from lamplighter.stages.clock import LedgerClock, this_machine
from lamplighter.stages.defer import Deferral
from lamplighter.stages.desk import Desk
from lamplighter.stages.reach import Reach
from lamplighter.stages.requests import persist
from tests.conftest import FAST
from tests.functions.calling import Client

KEY = {"Idempotency-Key": "while it was away"}


def test_a_job_accepted_without_postgres_is_there_when_it_is_back(
    folder: Path, valkey_server: Valkey
) -> None:
    bus = StreamsBus(valkey_server.url)
    bus.ensure_topics([JOB_REQUESTS])
    recorder = bus.consumer("recorder", [JOB_REQUESTS.name])
    with Postgres(folder, settings=FAST) as server:
        url = server.ensure_database("outage")
        migrate(url, days_ahead=2)
        ledger = PostgresQueryLedger(url)
        reach = Reach(seconds=0.5, rest=0.0)
        clock = LedgerClock(lambda: reach(ledger.now), otherwise=this_machine)
        desk = Desk(ledger=ledger, now=clock.now, deferral=Deferral(bus.publish, reach))
        call = Client(lambda: desk)
        call.submit()

        server.stop()
        accepted = call("POST", "/jobs", {"name": "x"}, headers=KEY)
        assert (accepted.status, accepted.body["status"]) == (202, "ACCEPTED")
        server.start()

        job_id = UUID(accepted.body["job_id"])
        polled = recorder.poll(1_000, 10.0)
        records = [each for each in polled if each.key == job_id.bytes]
        assert len(records) == 1
        # The call that was given up may have got through when the server came back: it is one job.
        assert persist(desk, records).created <= {job_id}
        assert persist(desk, records).created == set()
        [run] = ledger.runs("default", job_id)
        assert run.state is RunState.SCHEDULED
        assert ledger.job("default", job_id).name == "x"
        ledger.close()
    recorder.close()
    bus.close()
