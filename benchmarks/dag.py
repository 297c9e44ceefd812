"""Graphs of 10,000 jobs, submitted whole: a chain, a fan out of one, a fan into one.

Step to step: from the handler of the last upstream to the handler of its dependent. A job names
1,000 upstreams at most, so a fan-in has a layer of collectors in between.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg

from benchmarks import picture
from benchmarks.due import MARK, Pace
from benchmarks.figures import Points, rate_over_time, spread, spread_rows
from benchmarks.report import Row, draw, not_measured
from benchmarks.running import Running, absent, fresh, until
from benchmarks.sizes import number, words
from lamplighter.domain.ids import first_run_id

Graph = dict[str, list[str]]  # each node, and what it waits for

MOST_UPSTREAMS = 1_000
LEAD_SECONDS = 3.0
STEP_SECONDS = 1.0  # of patience
PATIENCE_SECONDS = 180.0


def measure() -> list[Row]:
    rows: list[Row] = []
    flow: dict[str, Points] = {}
    fan = number("BENCH_FAN")
    graphs = {
        "chain": chain(number("BENCH_CHAIN")),
        "fan-out": fan_out(fan),
        "fan-in": fan_in(fan),
    }
    for bus in words("BENCH_BUSES"):
        if reason := absent(bus):
            rows.append(not_measured(f"dag over {bus}", reason))
            continue
        with fresh(bus) as stack:
            Pace(stack)  # warms it up
            for name, graph in graphs.items():
                found, starts = _run(stack, name, graph)
                rows += [*spread_rows(f"{name} of {len(graph):,} over {bus}, step", found)]
                whole = max(starts) - min(starts)
                rows.append({"name": f"{name} of {len(graph):,} over {bus}, from first to last",
                             "unit": "s", "value": whole})  # fmt: skip
                flow[f"{bus} {name}"] = rate_over_time(starts, min(starts), max(whole, 1) / 40)
    draw("dag", picture.lines("Starts of a graph", flow, "seconds after its root", "jobs/s"))
    return rows


def chain(nodes: int) -> Graph:
    return {f"n{n}": [f"n{n - 1}"] if n else [] for n in range(nodes)}


def fan_out(nodes: int) -> Graph:
    return {f"n{n}": ["n0"] if n else [] for n in range(nodes)}


def fan_in(nodes: int) -> Graph:
    """A root, leaves that wait for it, collectors of up to 1,000 leaves, and one that has all."""
    graph: Graph = {"root": []}
    leaves = nodes - 2
    collectors = -(-leaves // MOST_UPSTREAMS)
    leaves -= collectors
    names = [f"leaf{n}" for n in range(leaves)]
    graph |= {name: ["root"] for name in names}
    parts = [names[n : n + MOST_UPSTREAMS] for n in range(0, leaves, MOST_UPSTREAMS)]
    graph |= {f"collector{n}": part for n, part in enumerate(parts)}
    graph["all"] = [f"collector{n}" for n in range(len(parts))]
    return graph


def steps(graph: Graph, at: Mapping[str, float]) -> list[float]:
    """Of each node that waits: seconds from the start of the last that it waited for to its own."""
    return [
        max(0.0, at[node] - max(at[each] for each in upstreams))
        for node, upstreams in graph.items()
        if upstreams
    ]


def _run(stack: Running, name: str, graph: Graph) -> tuple[Any, list[float]]:
    fire = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=LEAD_SECONDS)
    made = stack.send("POST", "/workflows", _body(name, graph, fire))["jobs"]
    fire = max(fire, datetime.now(UTC).replace(microsecond=0))
    patience = PATIENCE_SECONDS + STEP_SECONDS * _depth(name, graph)
    jobs = {job_id: key for key, job_id in made.items()}
    at: dict[str, float] = {}

    def all_have_begun() -> bool:
        at.update(_starts(stack, jobs))
        return len(at) == len(graph)

    until(all_have_begun, f"all of the {name} have begun", patience, look=2.0)
    return spread(steps(graph, at)), list(at.values())


def _depth(name: str, graph: Graph) -> int:
    return len(graph) if name == "chain" else 3


def _body(name: str, graph: Graph, fire: datetime) -> bytes:
    def job(key: str, upstreams: Sequence[str]) -> dict[str, Any]:
        when = {"after": upstreams} if upstreams else {"schedule_time": fire.isoformat()}
        return {"key": key, "name": key, "target": MARK, **when}

    jobs = [job(key, upstreams) for key, upstreams in graph.items()]
    return json.dumps({"name": name, "jobs": jobs}).encode()


def _starts(stack: Running, jobs: Mapping[str, str]) -> dict[str, float]:
    """When each began, by its key. The ledger knows whose run it was."""
    noted = {start.run_id: start.at for start in stack.starts()}
    since = first_run_id(datetime.now(UTC) - timedelta(hours=6))
    with psycopg.connect(stack.database_url, autocommit=True) as conn:
        found = conn.execute(
            "SELECT run_id, job_id FROM job_runs WHERE run_id >= %s", [since]
        ).fetchall()
    return {
        jobs[str(job_id)]: noted[run_id.bytes]
        for run_id, job_id in found
        if run_id.bytes in noted and str(job_id) in jobs
    }
