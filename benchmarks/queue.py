"""The queue: a herd that is due at one instant, beside a bare sorted set on the same server.

The floor is what no queue on Valkey can do without: ZADD to come in, ZPOPMIN to go out, in chunks
of the same size, without fences, turns, shares or a record of what is in flight. CPU per run, the
server's and ours, says more than the rate where the machine is busy with other things.
"""

import os
import tempfile
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from uuid import UUID

from benchmarks.report import Row
from infra.local.valkey import Valkey
from lamplighter.adapters.valkey.client import CHUNK, Client
from lamplighter.adapters.valkey.codec import chunks
from lamplighter.adapters.valkey.queue import ValkeyQueue
from lamplighter.domain.run import Due
from lamplighter.ports.queue import Ready

HERD = 60_000
WAITING = int(os.environ.get("BENCH_WAITING", "1000000"))
LIMIT = 5_000
NOW = datetime.now(UTC).replace(microsecond=0)
FREE = {"default": HERD}


def measure() -> list[Row]:
    with (
        tempfile.TemporaryDirectory(prefix="lamplighter-") as folder,
        Valkey(Path(folder)) as server,
    ):
        client = Client(server.url, timeout=30)
        rows = [*_herds(client), *_small_things(client), *_memory(client)]
        client.close()
    return rows


def _herds(client: Client) -> list[Row]:
    rows: list[Row] = []
    for tenants in (1, 10, 1_000):
        add_floor, pop_floor = _bare(client)
        whose = f"{HERD:,} runs of {tenants:,} tenant{'s' if tenants > 1 else ''}"
        rows += _herd(client, tenants, whose, add_floor, pop_floor)
    return rows


def _herd(
    client: Client, tenants: int, whose: str, add_floor: float, pop_floor: float
) -> list[Row]:
    queue, popped = _fresh(client), list[Ready]()
    herd = [_run(n, tenant=f"t{n % tenants}") for n in range(HERD)]
    added = _timed(lambda: queue.add(herd, epoch=1))
    client.ask("CONFIG", "RESETSTAT")
    theirs, ours = _server_cpu(client), time.process_time()
    ticked = _timed(lambda: _drain(queue, popped))
    theirs, ours = _server_cpu(client) - theirs, time.process_time() - ours
    script = client.store.info("commandstats")["cmdstat_evalsha"]["usec_per_call"]
    published = _timed(lambda: queue.published(1, popped))
    if len(set(popped)) != HERD:
        raise AssertionError(f"{len(set(popped))} of {HERD} came out")
    return [
        _rate(f"queue add, {whose}", HERD / added, add_floor, ""),
        _rate(f"queue tick, {whose}", HERD / ticked, pop_floor, "goal 60,000"),
        _rate(f"queue published, {whose}", HERD / published, None, ""),
        {"name": f"CPU of a tick, {whose}", "unit": "µs/run", "value": (theirs + ours) / HERD * 1e6,
         "note": f"{theirs / HERD * 1e6:.1f} of them in the server"},
        {"name": f"one script of a tick, {whose}", "unit": "ms", "value": script / 1000},
    ]  # fmt: skip


def _server_cpu(client: Client) -> float:
    used = client.store.info("cpu")
    return float(used["used_cpu_user"] + used["used_cpu_sys"])


def _bare(client: Client) -> tuple[float, float]:
    client.ask("FLUSHALL")
    ids = [os.urandom(16) for _ in range(HERD)]

    def add() -> None:
        for chunk in chunks(ids, CHUNK):
            client.ask("ZADD", "bare", *(part for run in chunk for part in (5_000_000, run)))

    def pop() -> None:
        while popped := client.ask("ZPOPMIN", "bare", CHUNK):
            [UUID(bytes=run) for run in popped[::2]]

    return HERD / _timed(add), HERD / _timed(pop)


def _drain(queue: ValkeyQueue, popped: list[Ready]) -> None:
    more = True
    while more:
        ticked = queue.tick(1, NOW, FREE, LIMIT)
        popped += ticked.runs
        more = ticked.more


def _small_things(client: Client) -> list[Row]:
    queue = _fresh(client)
    queue.add([_run(n, seconds=3600) for n in range(1000)])
    ping = _median_of(lambda: client.ask("PING"))
    client.ask("CONFIG", "RESETSTAT")
    idle = _median_of(lambda: queue.tick(1, NOW, FREE, LIMIT))
    inside = client.store.info("commandstats")["cmdstat_evalsha"]["usec_per_call"]
    return [
        {"name": "tick with nothing due", "unit": "µs", "value": idle, "floor": ping,
         "ratio": idle / ping, "note": "beside PING; both from Python, with the way there"},
        {"name": "tick with nothing due, in the server", "unit": "µs", "value": inside},
        {"name": "add one run that is due, until the leader wakes", "unit": "ms",
         "value": _wake_up(client, queue), "note": "goal 2"},
    ]  # fmt: skip


def _wake_up(client: Client, queue: ValkeyQueue) -> float:
    """From the call to `add` in one thread to the end of `sleep` in another."""
    while queue.sleep(0.05):
        pass
    took = []
    for n in range(200):
        woken = threading.Event()
        ended: list[float] = []

        def leader(woken: threading.Event = woken, ended: list[float] = ended) -> None:
            queue.sleep(5)
            ended.append(time.perf_counter())
            woken.set()

        threading.Thread(target=leader).start()
        time.sleep(0.002)  # until it sleeps; a call that comes sooner is only heard sooner
        started = time.perf_counter()
        ValkeyQueue(client).add([_run(n, seconds=-1 - n)])
        woken.wait(5)
        took.append((ended[0] - started) * 1000)
    return median(took)


def _memory(client: Client) -> list[Row]:
    return [_memory_with(client, name) for name in ("acme", "a-tenant-with-a-name-of-36-letters--")]


def _memory_with(client: Client, tenant: str) -> Row:
    queue = _fresh(client)
    filled = _timed(lambda: _fill(queue, tenant))
    keys = client.ask("KEYS", "*")
    used = sum(client.ask("MEMORY", "USAGE", key, "SAMPLES", 0) for key in keys)
    return {
        "name": f"{WAITING:,} waiting runs, tenant's name of {len(tenant)} letters",
        "unit": "MB",
        "value": used / 1e6,
        "note": f"MEMORY USAGE; goal 150; loaded in {filled:.0f} s",
    }


def _fill(queue: ValkeyQueue, tenant: str) -> None:
    for start in range(0, WAITING, 10_000):
        runs = range(start, min(start + 10_000, WAITING))
        queue.add([_run(n, tenant=tenant, seconds=n % 300) for n in runs])


def _fresh(client: Client) -> ValkeyQueue:
    client.ask("FLUSHALL")
    queue = ValkeyQueue(client)
    queue.begin(1, NOW, NOW)
    return queue


def _run(n: int, *, tenant: str = "acme", seconds: int = 0) -> Due:
    run_id = UUID(bytes=os.urandom(16))
    return Due(run_id, tenant, "default", 1 + n % 10, NOW + timedelta(seconds=seconds), 0)


def _timed(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def _median_of(call: Callable[[], object]) -> float:
    return median(_timed(call) for _ in range(2000)) * 1e6


def _rate(name: str, value: float, floor: float | None, note: str) -> Row:
    row: Row = {"name": name, "unit": "runs/s", "value": value, "note": note}
    if floor is not None:
        row |= {"floor": floor, "ratio": value / floor}
    return row
