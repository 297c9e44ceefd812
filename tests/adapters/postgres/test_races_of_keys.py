"""Keys on PostgreSQL: two at once are one, and a day later they are forgotten."""

from lamplighter.adapters.postgres.ledger import PostgresLedger
from lamplighter.domain.errors import IdempotencyConflict
from lamplighter.domain.run import Due
from lamplighter.ports.ledger import KeyUse
from tests.adapters.postgres.making import HOUR, fresh, submit_often, utc_now
from tests.adapters.postgres.races import Scene, World

ROUTE = "POST /jobs/1/runNow"


def test_two_who_ask_for_a_run_under_one_key_get_one_run(world: World) -> None:
    def set_up(world: World) -> Scene:
        tenant = fresh("t")
        job, _ = submit_often(world.ledger, utc_now() + HOUR, tenant=tenant)

        def ask(ledger: PostgresLedger) -> list[Due]:
            use = ledger.use_key(tenant, ROUTE, "k", b"1")
            return ledger.add_run(tenant, job.job_id, "now:k", use.used_at)

        def check(one: list[Due], other: list[Due]) -> None:
            assert one == other
            runs = world.ledger.runs(tenant, job.job_id)
            assert [run.run_id for run in runs if run.origin == "now:k"] == [one[0].run_id]

        return Scene([ask, ask], check)

    world.race(set_up, mirrored=True, samples=5)


def test_of_two_bodies_under_one_key_one_is_refused(world: World) -> None:
    def set_up(world: World) -> Scene:
        tenant = fresh("t")

        def using(fingerprint: bytes) -> object:
            return lambda ledger: ledger.use_key(tenant, ROUTE, "k", fingerprint)

        def check(*answers: KeyUse | IdempotencyConflict) -> None:
            kinds = sorted(type(each).__name__ for each in answers)
            assert kinds == ["IdempotencyConflict", "KeyUse"]

        return Scene([using(b"1"), using(b"2")], check)  # type: ignore[list-item]

    world.race(set_up, mirrored=True)


def test_a_day_later_a_key_is_as_good_as_new_and_others_are_gone(world: World) -> None:
    tenant = fresh("t")
    for key in ("k", "l"):
        world.ledger.use_key(tenant, ROUTE, key, b"1")
        world.ledger.answer_key(tenant, ROUTE, key, b"1", {"status": 200})
    world.conn.execute("UPDATE idempotency_keys SET used_at = used_at - interval '25 h'")

    use = world.ledger.use_key(tenant, ROUTE, "k", b"2")

    assert use.answer is None
    query = "SELECT key FROM idempotency_keys WHERE tenant = %s"
    assert world.conn.execute(query, [tenant]).fetchall() == [("k",)]


def test_an_old_key_that_nobody_took_away_is_as_good_as_new(world: World) -> None:
    tenant = fresh("t")
    for n in range(110):
        world.ledger.use_key(tenant, ROUTE, f"k{n}", b"1")
    age = "UPDATE idempotency_keys SET used_at = used_at - %s WHERE key = %s AND tenant = %s"
    for n in range(110):
        world.conn.execute(age, [26 * HOUR if n < 109 else 25 * HOUR, f"k{n}", tenant])
    # Of the hundred and ten the oldest hundred go; this one, the youngest, is still there.
    assert world.ledger.use_key(tenant, ROUTE, "k109", b"2").answer is None
