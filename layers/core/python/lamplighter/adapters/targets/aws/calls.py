"""What the AWS targets share: how a run introduces itself, and what an error means."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import msgspec
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    NoRegionError,
    ParamValidationError,
)

from lamplighter.domain.ids import fire_of
from lamplighter.domain.run import Claimed
from lamplighter.ports.target import TargetFailed

# 4xx by number, and yet only a matter of time.
_PASSING: Final = frozenset(
    {"ThrottlingException", "Throttling", "TooManyRequestsException", "RequestLimitExceeded",
     "RequestThrottled", "RequestTimeout", "EC2ThrottledException", "KMSThrottlingException",
     "ResourceNotReadyException", "ExpiredTokenException", "ExpiredToken"}
)  # fmt: skip
_HOPELESS: Final = (ParamValidationError, NoRegionError)

_MOST_ATTRIBUTES: Final = 10

# AWS calls cannot be cut short; one that is told to stop is left behind soon.
PATIENCE: Final = 1.0


@contextmanager
def explained(service: str) -> Iterator[None]:
    """Turns what boto3 raises into TargetFailed, retryable where time may help."""
    try:
        yield
    except ClientError as error:
        raise TargetFailed(f"{service}: {error}", retryable=is_passing(error)) from None
    except BotoCoreError as error:
        raise TargetFailed(
            f"{service}: {error}", retryable=not isinstance(error, _HOPELESS)
        ) from None


def is_passing(error: ClientError) -> bool:
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 500)
    return code_of(error) in _PASSING or status in (408, 429) or status >= 500


def code_of(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def about(run: Claimed) -> dict[str, str]:
    """What a receiver needs to do its work exactly once; and to go on with its trace."""
    told = {
        "run_id": str(run.run_id),
        "job_id": str(run.job_id),
        "fence": str(run.fence),
        "attempt": str(run.attempt),
        "fire_at": fire_of(run.run_id).isoformat(timespec="milliseconds"),
    }
    return told if run.traceparent is None else {**told, "traceparent": run.traceparent}


def introduced(run: Claimed) -> str:
    """The payload with a `lamplighter` entry, for services that carry nothing beside it.

    A payload that is no object becomes the entry `payload` of one.
    """
    payload = run.payload
    if not isinstance(payload, dict):
        payload = {} if payload is None else {"payload": payload}
    return as_json({**payload, "lamplighter": about(run)})


def as_json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def attributes(run: Claimed, own: dict[str, str]) -> dict[str, dict[str, str]]:
    """Message attributes, of which SQS takes ten: four of ours beside six of the job's.

    A trace is told of where there is still room.
    """
    ours = about(run)
    del ours["fire_at"]
    if len(own | ours) > _MOST_ATTRIBUTES:
        ours.pop("traceparent", None)
    return {
        name: {"DataType": "String", "StringValue": value} for name, value in (own | ours).items()
    }
