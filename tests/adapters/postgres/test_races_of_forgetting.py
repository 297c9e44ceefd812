"""A job that leaves after the retention, met by whoever still wants something of it."""

from uuid import UUID

from lamplighter.adapters.postgres.leaving import forget_jobs
from lamplighter.adapters.postgres.ledger import PostgresLedger
from lamplighter.domain.errors import JobNotFound
from lamplighter.domain.job import Job, JobStatus
from lamplighter.domain.run import Due
from lamplighter.domain.states import RunState
from tests.adapters.ledger.builders import following
from tests.adapters.postgres.making import HOUR, fresh, submit_once, utc_now
from tests.adapters.postgres.races import Scene, World


def _without_history(world: World) -> Job:
    """It has fired, and the day that had its run is gone."""
    job, ticket = submit_once(world.ledger, utc_now(), tenant=fresh("t"))
    world.conn.execute("DELETE FROM job_runs WHERE run_id = %s", [ticket.run_id])
    return job


def _is_known(world: World, job_id: UUID) -> bool:
    query = "SELECT FROM jobs WHERE job_id = %s"
    return world.conn.execute(query, [job_id]).fetchone() is not None


def test_a_job_that_is_run_while_it_is_forgotten_stays_or_gets_no_run(world: World) -> None:
    def set_up(world: World) -> Scene:
        job, origin = _without_history(world), fresh("now:")

        def forget(ledger: PostgresLedger) -> None:
            forget_jobs(ledger._db, [job.job_id], utc_now())

        def run_now(ledger: PostgresLedger) -> list[Due]:
            return ledger.add_run(job.tenant, job.job_id, origin, utc_now())

        def check(_: None, added: list[Due] | JobNotFound) -> None:
            assert isinstance(added, JobNotFound | list)
            assert _is_known(world, job.job_id) == isinstance(added, list)

        return Scene([forget, run_now], check)

    world.race(set_up, samples=5)


def test_a_follower_that_is_led_on_while_it_is_forgotten_stays_or_gets_no_run(world: World) -> None:
    def set_up(world: World) -> Scene:
        job, _ = submit_once(world.ledger, utc_now(), tenant=fresh("t"))
        follower = following(job, tenant=job.tenant)
        world.ledger.submit([follower])
        world.conn.execute("DELETE FROM job_runs WHERE job_id = %s", [follower.job.job_id])
        origin = fresh("now:")

        def forget(ledger: PostgresLedger) -> None:
            forget_jobs(ledger._db, [follower.job.job_id], utc_now())

        def lead_on(ledger: PostgresLedger) -> list[Due]:
            return ledger.add_run(job.tenant, job.job_id, origin, utc_now(), cascade=True)

        def check(_: object, led: list[Due]) -> None:
            assert led
            query = "SELECT FROM job_runs WHERE job_id = %s"
            has_run = world.conn.execute(query, [follower.job.job_id]).fetchone() is not None
            assert _is_known(world, follower.job.job_id) == has_run

        return Scene([forget, lead_on], check)

    world.race(set_up, samples=5)


def test_a_job_that_is_run_while_it_is_cancelled_has_nothing_left_to_run(world: World) -> None:
    def set_up(world: World) -> Scene:
        job, _ = submit_once(world.ledger, utc_now() + HOUR, tenant=fresh("t"))
        origin = fresh("now:")

        def cancel(ledger: PostgresLedger) -> Job:
            return ledger.cancel_job(job.tenant, job.job_id)

        def run_now(ledger: PostgresLedger) -> list[Due]:
            return ledger.add_run(job.tenant, job.job_id, origin, utc_now())

        def check(cancelled: Job, _: object) -> None:
            assert cancelled.status is JobStatus.CANCELLED
            left = {run.state for run in world.ledger.runs(job.tenant, job.job_id)}
            assert left <= {RunState.CANCELLED}

        return Scene([cancel, run_now], check)

    world.race(set_up, samples=5)
