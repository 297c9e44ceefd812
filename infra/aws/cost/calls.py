"""Calls of the functions: how many, how long, and what they log."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from infra.aws.cost.assumed import Assumed
from infra.aws.cost.load import BULK, RECURRING, SINGLE, Load
from infra.aws.cost.prices import MINUTES
from infra.aws.cost.sizes import awake_hours, execute_seconds, executor_batch, recorder_batch
from infra.aws.profiles import Function, Profile

_GB: Final = 1e9


@dataclass(frozen=True)
class _Calls:
    """Of one function, in a month."""

    number: float
    seconds: float
    size: Function

    @property
    def gb_seconds(self) -> float:
        return self.number * self.seconds * self.size.memory / 1024


def called(profile: Profile, load: Load, assumed: Assumed) -> Mapping[str, float]:
    calls = [*_watching(profile, load, assumed), *_running(profile, load, assumed)]
    requests = _requests(load, assumed)
    bytes_ = sum(each.number for each in calls) * assumed.log_bytes_per_call
    traced = assumed.traced_calls if profile.trace_one_in else 0.0
    bytes_ += requests * assumed.log_bytes_per_request + load.runs * assumed.log_bytes_per_run
    return {
        "lambda_time": sum(each.gb_seconds for each in calls),
        "lambda_calls": sum(each.number for each in calls) / 1e6,
        "http": requests / 1e6,
        "traces": sum(each.number for each in calls) * traced / 1e6,
        "logs": bytes_ / _GB,
    }


def _requests(load: Load, assumed: Assumed) -> float:
    per_run = {SINGLE: 1.0, BULK: 1 / assumed.bulk_jobs, RECURRING: 0.0}
    return load.runs * per_run[load.submission]


def _watching(profile: Profile, load: Load, assumed: Assumed) -> list[_Calls]:
    size = profile.functions["watcher"]
    awake = awake_hours(profile, load) * 60
    return [
        _Calls(awake, profile.watch_seconds, size),
        _Calls(MINUTES - awake, assumed.asleep_seconds, size),
    ]


def _running(profile: Profile, load: Load, assumed: Assumed) -> list[_Calls]:
    batch = executor_batch(profile, load, assumed)
    events = recorder_batch(profile, load, assumed)
    single = load.submission == SINGLE
    told = load.runs * (assumed.messages_per_run - 1)
    return [
        _Calls(
            _requests(load, assumed),
            assumed.submit_seconds if single else assumed.bulk_seconds,
            profile.functions["submit"],
        ),
        _Calls(
            load.runs / batch,
            execute_seconds(profile, load, assumed),
            profile.functions["executor"],
        ),
        _Calls(
            told / events,
            assumed.record_seconds + events * assumed.record_seconds_per_event,
            profile.functions["recorder"],
        ),
    ]
