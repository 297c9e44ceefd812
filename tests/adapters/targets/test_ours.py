"""What a worker uses for itself, no job may address: it would write in the name of any tenant."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lamplighter import wiring
from lamplighter.domain.errors import InvalidJob
from lamplighter.domain.run import Outcome, Verdict
from lamplighter.stages.run import Runner
from tests.adapters.targets.running import claim, run_one

_SQS = "https://sqs.us-east-1.amazonaws.com/123456789012"
_SNS = "arn:aws:sns:us-east-1:123456789012"
_LAMBDA = "arn:aws:lambda:us-east-1:123456789012:function"
_EC2 = "arn:aws:ec2:us-east-1:123456789012"
_TASK = {"type": "ecs", "cluster": "batch", "task_definition": "report:3"}
_INSIDE = [
    ["subnet-0a1"],
    ["subnet-0ff", "subnet-0b2"],
    ["SUBNET-0B2"],
    [f"{_EC2}:subnet/subnet-0a1"],
]


@pytest.fixture
def runner(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Runner]:
    """As the executor of a small deployment has it; whatever it lets through finds no AWS."""
    settings = {
        "BUS": "sqs", "SQS_PREFIX": "lamplighter", "COURIER_FUNCTION": "stack-courier-1",
        "ALERT_SNS_TOPIC": f"{_SNS}:stack-alerts-1", "DATA_DIR": str(folder),
        "OWN_SUBNETS": "subnet-0a1,subnet-0b2",
        "DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none",
        "VALKEY_URL": "valkey://127.0.0.1:1",
    }  # fmt: skip
    for name, value in settings.items():
        monkeypatch.setenv(f"LAMPLIGHTER_{name}", value)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    wiring.forget()
    yield wiring.runner()
    wiring.runner().close()
    wiring.forget()


@pytest.mark.parametrize(
    "target",
    [
        {"type": "sqs", "queue_url": f"{_SQS}/lamplighter-job-requests",
         "attributes": {"topic": "job-requests"}},
        {"type": "sqs", "queue_url": f"{_SQS}/lamplighter-job-events/"},
        {"type": "sqs", "queue_url": f"{_SQS}/lamplighter%2Djob-runs-tasks-p1?a=b"},
        {"type": "sns", "topic_arn": f"{_SNS}:stack-alerts-1"},
        {"type": "lambda", "function": "stack-courier-1"},
        {"type": "lambda", "function": f"{_LAMBDA}:stack-courier-1:$LATEST"},
    ],
)  # fmt: skip
def test_a_job_reaches_nothing_of_the_schedulers_own(
    target: dict[str, Any], runner: Runner
) -> None:
    outcome = _ended(runner, target)

    assert outcome.verdict is Verdict.FAILED
    assert "is the scheduler's own" in str(outcome.error)
    assert outcome.retryable is False


@pytest.mark.parametrize(
    "target",
    [
        {"type": "sqs", "queue_url": f"{_SQS}/lamplighter-orders"},
        {"type": "sns", "topic_arn": f"{_SNS}:stack-alerts-12"},
        {**_TASK, "subnets": ["subnet-0a12"]},
        {**_TASK, "launch_type": "EC2"},
    ],
)
def test_a_name_that_only_begins_like_one_of_ours_is_asked_for(
    target: dict[str, Any], runner: Runner
) -> None:
    outcome = _ended(runner, target)

    assert "is the scheduler's own" not in str(outcome.error)
    assert outcome.retryable is True


@pytest.mark.parametrize("subnets", _INSIDE, ids=lambda each: each[-1])
def test_a_task_never_starts_in_the_schedulers_network(subnets: list[str], runner: Runner) -> None:
    outcome = _ended(runner, {**_TASK, "subnets": subnets})

    assert (outcome.verdict, outcome.retryable) == (Verdict.FAILED, False)
    assert outcome.error == (
        f"target.subnets: {subnets[-1]} is in the scheduler's own network; "
        "use subnets of a network of your own"
    )


@pytest.mark.usefixtures("runner")
@pytest.mark.parametrize("subnets", _INSIDE, ids=lambda each: each[-1])
def test_a_job_for_such_a_task_is_not_accepted(subnets: list[str]) -> None:
    check = wiring.desk().check_target

    with pytest.raises(InvalidJob, match="use subnets of a network of your own") as refused:
        check({**_TASK, "subnets": subnets})

    assert refused.value.field == "target.subnets"
    check({**_TASK, "subnets": ["subnet-0ff"]})


def _ended(runner: Runner, target: dict[str, Any]) -> Outcome:
    return run_one(runner, claim(target, payload={}))
