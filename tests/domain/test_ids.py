import itertools
from datetime import UTC, datetime, timedelta
from uuid import RFC_4122, UUID

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infra.local.postgres import Postgres
from lamplighter.adapters.postgres.migrate import migrate
from lamplighter.domain.ids import (
    BY_SCHEDULE,
    derived_job_id,
    epoch_ms,
    fire_of,
    first_run_id,
    instant_of,
    new_job_id,
    run_id,
)
from tests.domain.many_ids import collisions

LAST_MS = (1 << 48) - 1
LAST_OF_DATETIME = epoch_ms(datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC))

instants = st.integers(0, LAST_OF_DATETIME).map(instant_of)
job_ids = st.uuids()
words = st.text(max_size=20)
origins = st.one_of(
    st.just(BY_SCHEDULE), words.map("now:{}".format), words.map("backfill:{}".format)
)


@given(job_ids, job_ids, instants, instants, words)
def test_ids_sort_as_their_fires_do(
    one: UUID, two: UUID, fire: datetime, other: datetime, pool: str
) -> None:
    early, late = sorted((fire, other))
    if early < late:
        assert run_id(one, early, pool) < run_id(two, late, "default")
        assert str(run_id(one, early, pool)) < str(run_id(two, late, "default"))


@given(job_ids, instants, words, origins)
def test_the_same_fire_has_the_same_id_whoever_computes_it(
    job: UUID, fire: datetime, pool: str, origin: str
) -> None:
    elsewhere = fire.astimezone(tz=None)
    assert run_id(job, fire, pool, origin) == run_id(UUID(str(job)), elsewhere, pool, origin)


@given(st.tuples(job_ids, words, origins), st.tuples(job_ids, words, origins), instants)
def test_another_job_pool_or_origin_has_another_id(
    one: tuple[UUID, str, str], two: tuple[UUID, str, str], fire: datetime
) -> None:
    same = run_id(one[0], fire, *one[1:]) == run_id(two[0], fire, *two[1:])
    assert same is (one == two)


def test_neighbours_in_every_part_have_different_ids() -> None:
    """Values that would run into each other if the parts were only strung together."""
    fire = datetime(2026, 3, 1, tzinfo=UTC)
    jobs = [UUID(int=n) for n in range(5)]
    fires = [fire + timedelta(milliseconds=n) for n in (0, 1, 10)]
    pools = ["", "a", "aschedule", "1", "default", "default1"]
    names = ["schedule", "now:", "now:a", "backfill:a", ""]
    parts = list(itertools.product(jobs, fires, pools, names))
    assert len({run_id(*each) for each in parts}) == len(parts)


@given(job_ids, instants, words, origins)
def test_the_fire_can_be_read_from_the_id(
    job: UUID, fire: datetime, pool: str, origin: str
) -> None:
    assert fire_of(run_id(job, fire, pool, origin)) == fire


@given(job_ids, st.datetimes(datetime(1970, 1, 1), datetime(9000, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001 - hypothesis wants bare bounds and adds the zone
def test_a_fire_between_two_milliseconds_counts_as_the_earlier(job: UUID, fire: datetime) -> None:
    whole = fire.replace(microsecond=fire.microsecond // 1000 * 1000)
    assert run_id(job, fire, "default") == run_id(job, whole, "default")
    assert fire_of(run_id(job, fire, "default")) == whole


@given(job_ids, instants.filter(lambda fire: fire > instant_of(0)), words, origins)
def test_a_bound_lies_below_its_own_millisecond_and_above_the_one_before(
    job: UUID, fire: datetime, pool: str, origin: str
) -> None:
    before = fire - timedelta(milliseconds=1)
    bound = first_run_id(fire)
    assert run_id(job, before, pool, origin) < bound < run_id(job, fire, pool, origin)


@given(job_ids, instants, words, origins)
def test_a_run_id_is_a_uuid_of_version_8(job: UUID, fire: datetime, pool: str, origin: str) -> None:
    made = run_id(job, fire, pool, origin)
    assert (made.version, made.variant) == (8, RFC_4122)


@given(instants)
def test_a_new_job_id_is_a_uuid_of_version_7_and_never_the_same(now: datetime) -> None:
    made = new_job_id(now)
    assert (made.version, made.variant, fire_of(made)) == (7, RFC_4122, now)
    assert made != new_job_id(now)


@given(words, words, words, words)
def test_a_derived_job_id_is_the_same_for_the_same_tenant_and_key_only(
    tenant: str, key: str, other_tenant: str, other_key: str
) -> None:
    made, other = derived_job_id(tenant, key), derived_job_id(other_tenant, other_key)
    assert made == derived_job_id(tenant, key)
    assert (made == other) is ((tenant, key) == (other_tenant, other_key))
    assert (made.version, made.variant) == (8, RFC_4122)


@pytest.mark.parametrize("ms", [-1, LAST_MS + 1])
def test_an_instant_that_no_id_can_hold_is_refused(ms: int) -> None:
    with pytest.raises(ValueError, match="from 1970 to 10889"):
        _run_id_at(ms)


def _run_id_at(ms: int) -> UUID:
    """`datetime` ends before the ids do, so the bound is asked of a stand-in for it."""
    if ms < 0:
        return run_id(UUID(int=0), instant_of(ms), "default")
    from lamplighter.domain import ids

    return ids._compose(ms, 0, ids._VERSION_8)


def test_postgres_reads_the_same_fire_from_an_id(postgres_server: Postgres) -> None:
    url = postgres_server.ensure_database("ids")
    migrate(url, days_ahead=0)
    with psycopg.connect(url) as conn:
        # Its intervals are multiplied as floating point: exact until 2^56 microseconds are over.
        @settings(max_examples=200, deadline=None)
        @given(job_ids, st.integers(0, (1 << 56) // 1000).map(instant_of))
        def check(job: UUID, fire: datetime) -> None:
            made = run_id(job, fire, "default")
            [[read]] = conn.execute("SELECT fire_of(%s)", [made]).fetchall()
            assert read == fire

        check()


def test_ten_million_runs_at_one_instant_have_ten_million_ids() -> None:
    assert collisions(10_000_000) == 0
