"""How it goes: minutes, workers, health. From rollups and small tables, never by counting runs."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from lamplighter.contracts.answers import shown_instant
from lamplighter.contracts.http import Request, Response
from lamplighter.contracts.http_decode import parameters
from lamplighter.domain.errors import LamplighterError
from lamplighter.ports.ledger_queries import LONGEST_PAGE, Crew, Minute, Worker
from lamplighter.stages.desk import Desk

SILENT_AFTER: Final = timedelta(seconds=15)
_METRICS_MINUTES: Final = 60
_OK: Final = "ok"
PROMETHEUS: Final = "text/plain; version=0.0.4; charset=utf-8"


class _StatsQuery(msgspec.Struct, forbid_unknown_fields=True):
    minutes: Annotated[int, Meta(ge=1, le=1440)] = 60


class _WorkersQuery(msgspec.Struct, forbid_unknown_fields=True):
    cursor: str = ""
    limit: Annotated[int, Meta(ge=1, le=LONGEST_PAGE)] = 100


def get_stats(desk: Desk, request: Request) -> Response:
    asked = parameters(dict(request.query), _StatsQuery)
    lines = _last_minutes(desk, request.tenant, asked.minutes)
    by_minute: dict[datetime, list[Minute]] = defaultdict(list)
    for line in lines:
        by_minute[line.minute].append(line)
    series = [
        {"minute": shown_instant(minute), **_summed(of_minute)}
        for minute, of_minute in sorted(by_minute.items())
    ]
    body = {"minutes": asked.minutes, "total": _summed(lines), "series": series}
    return Response(HTTPStatus.OK, body)


def _last_minutes(desk: Desk, tenant: str, minutes: int) -> list[Minute]:
    now = desk.now()
    return desk.ledger.list_minutes(tenant, now - timedelta(minutes=minutes), now)


def _summed(lines: Sequence[Minute]) -> dict[str, Any]:
    by_state: dict[str, int] = defaultdict(int)
    for line in lines:
        by_state[line.state.name] += line.runs
    runs = sum(by_state.values())
    return {
        "runs": runs,
        "by_status": dict(by_state),
        "mean_duration_ms": _mean(sum(line.duration_ms for line in lines), runs),
        "mean_lateness_ms": _mean(sum(line.lateness_ms for line in lines), runs),
        "max_lateness_ms": max((line.max_lateness_ms for line in lines), default=None),
    }


def _mean(total: int, count: int) -> float | None:
    return round(total / count, 1) if count else None


def get_workers(desk: Desk, request: Request) -> Response:
    asked = parameters(dict(request.query), _WorkersQuery)
    workers = desk.ledger.list_workers(asked.cursor, asked.limit)
    now = desk.now()
    more = workers[-1].worker_id if len(workers) == asked.limit else None
    body = {"workers": [_worker(each, now) for each in workers], "next_cursor": more}
    return Response(HTTPStatus.OK, body)


def _worker(worker: Worker, now: datetime) -> dict[str, Any]:
    return {
        "worker_id": worker.worker_id,
        "pool": worker.pool,
        "capacity": worker.capacity,
        "status": "ALIVE" if _is_alive(worker, now) else "SILENT",
        "started_at": shown_instant(worker.started_at),
        "heartbeat_at": shown_instant(worker.heartbeat_at),
    }


def _is_alive(worker: Worker, now: datetime) -> bool:
    return worker.heartbeat_at > now - SILENT_AFTER


def get_health(_: Desk, __: Request) -> Response:
    """This function answers. Whether it can do anything is `/readyz`."""
    return Response(HTTPStatus.OK, {"status": "ok"})


def get_ready(desk: Desk, _: Request) -> Response:
    """Ready with the ledger; the other parts are said, and done without for a while."""
    checks = {"ledger": _answers(desk.ledger.now)}
    checks |= {name: _answers(probe) for name, probe in desk.probes.items()}
    if checks["ledger"] != _OK:
        body = {"status": "not ready", "checks": checks}
        return Response(HTTPStatus.SERVICE_UNAVAILABLE, body)
    return Response(HTTPStatus.OK, {"status": "ready", "checks": checks})


def _answers(probe: Callable[[], object]) -> str:
    try:
        probe()
    except LamplighterError:
        return "unavailable"
    return _OK


def get_metrics(desk: Desk, request: Request) -> Response:
    """Prometheus' text format. No ids as labels."""
    lines = _last_minutes(desk, request.tenant, _METRICS_MINUTES)
    now = desk.now()
    crews = desk.ledger.count_workers(now - SILENT_AFTER)
    text = "".join([*_run_metrics(lines), *_worker_metrics(crews), *_queue_metrics(desk, now)])
    return Response(HTTPStatus.OK, text, {"Content-Type": PROMETHEUS})


def _run_metrics(lines: Sequence[Minute]) -> Iterable[str]:
    runs: dict[str, float] = defaultdict(float)
    seconds: dict[str, float] = defaultdict(float)
    late: dict[str, float] = {}
    for line in lines:
        where = f'class="{line.job_class.name}",pool="{line.pool}"'
        which = f'{where},status="{line.state.name}"'
        runs[which] += line.runs
        seconds[which] += line.duration_ms / 1000
        late[where] = max(late.get(where, 0), line.max_lateness_ms / 1000)
    yield from _gauge("runs_last_hour", "Runs that ended in the last 60 minutes.", runs)
    yield from _gauge("run_seconds_last_hour", "Seconds that those ran, in sum.", seconds)
    yield from _gauge("max_lateness_seconds_last_hour", "The latest start of those.", late)


def _worker_metrics(crews: Sequence[Crew]) -> Iterable[str]:
    count: dict[str, float] = {f'pool="{each.pool}"': each.workers for each in crews}
    capacity: dict[str, float] = {f'pool="{each.pool}"': each.capacity for each in crews}
    yield from _gauge("workers", "Workers heard of in the last 15 s.", count)
    yield from _gauge("worker_capacity", "Runs that those can do at once.", capacity)


def _queue_metrics(desk: Desk, now: datetime) -> Iterable[str]:
    """Nothing while the queue is away: a depth of 0 would be a lie."""
    if desk.queue is None:
        return
    try:
        depths = desk.queue.depth(now)
    except LamplighterError:
        return
    waiting: dict[str, float] = defaultdict(float)
    for depth in depths:
        waiting[f'class="{depth.job_class.name}",pool="{depth.pool}"'] += depth.runs
    yield from _gauge("queue_depth", "Runs that are due and wait for a worker.", waiting)


def _gauge(name: str, meaning: str, values: dict[str, float]) -> Iterable[str]:
    yield f"# HELP lamplighter_{name} {meaning}\n# TYPE lamplighter_{name} gauge\n"
    for labels, value in sorted(values.items()):
        # Of 1,234,567 runs none is rounded away, as six digits would.
        yield f"lamplighter_{name}{{{labels}}} {value:.15g}\n"
