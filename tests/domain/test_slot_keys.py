"""The names of slots: whoever shares one waits for the other."""

from uuid import UUID

from lamplighter.domain.job import Job
from lamplighter.domain.policy import ScheduleType
from lamplighter.domain.schedule import Schedule
from lamplighter.domain.slots import slot_keys


def _names(tenant: str, key: str) -> set[str]:
    job = Job(
        job_id=UUID(int=1),
        name="a job",
        schedule=Schedule(ScheduleType.IMMEDIATE),
        tenant=tenant,
        ordering_key=key,
        concurrency_key=key,
        max_concurrency=1,
    )
    return {each.name for each in slot_keys(job, "default")}


def test_tenants_share_no_slot() -> None:
    assert _names("a", "k") & _names("b", "k") == set()
    assert _names("a:b", "c") & _names("a", "b:c") == set()
    assert _names("a:key", "c") & _names("a", "key:c") == set()
    assert _names("a:b", "c") & _names("a%3Ab", "c") == set()


def test_jobs_of_a_tenant_share_theirs() -> None:
    assert _names("a", "k") == _names("a", "k") == {"order:a:k", "limit:a:key:k"}
