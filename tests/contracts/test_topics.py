import re

import pytest

from lamplighter.contracts.topics import all_topics, job_runs, job_runs_topics
from lamplighter.domain.errors import InvalidJob
from lamplighter.domain.policy import JobClass


def test_events_have_the_partitions_and_keys_that_were_asked_for() -> None:
    found = {topic.name: (topic.partitions, topic.keyed_by) for topic in all_topics()}
    assert found["job-events"] == (20, "job_id")
    assert found["worker-events"] == (10, "worker_id")
    assert found["dependency-events"] == (10, "job_id")
    assert {"job-requests", "dead-letters"} <= found.keys()


def test_the_default_pool_has_the_short_names() -> None:
    names = [topic.name for topic in job_runs_topics("default")]
    assert names == ["job-runs.p1", "job-runs.p2", "job-runs.p3", "job-runs.p4"]


def test_no_two_pools_share_a_topic() -> None:
    pools = ["default", "tasks", "p1", "default-p1", "eu-west-1"]
    names = [topic.name for topic in all_topics(pools)]
    assert len(set(names)) == len(names)
    assert "job-runs.tasks.p1" in names


def test_every_name_is_one_that_kafka_takes() -> None:
    longest = "x" * 100
    for topic in all_topics(["default", longest]):
        assert re.fullmatch(r"[a-zA-Z0-9._-]{1,249}", topic.name)


@pytest.mark.parametrize("pool", ["", "with space", "a.b", "x" * 101, "ü", "a/b"])
def test_a_pool_that_cannot_be_part_of_a_name_is_refused(pool: str) -> None:
    with pytest.raises(InvalidJob, match="pool: "):
        job_runs(pool, JobClass.P1)


def test_only_what_is_written_nowhere_else_waits_for_the_disk() -> None:
    assert [topic.name for topic in all_topics() if topic.fsync] == ["job-requests"]
