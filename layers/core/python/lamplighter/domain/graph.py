"""Who waits for whom: order, cycles, reach. Edges lead from a job to its upstreams.

All of it walks with explicit lists, never by recursion, and visits each node and edge once:
a chain of 10,000 jobs is an ordinary graph.
"""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

from lamplighter.domain.errors import InvalidGraph

Node = TypeVar("Node", bound=Hashable)

_NAMES_SHOWN = 5


def check_graph(
    new: Mapping[Node, Sequence[Node]],
    known: Mapping[Node, Collection[Node]],
    over: Mapping[Node, str] | None = None,
) -> None:
    """Refuse new edges that name a job twice, itself or nobody, or that close a cycle.

    `known` holds the jobs that exist with their upstreams, or as many of them as can be reached
    from `new`. A job in both is being edited, and its new upstreams count. Only what `new`
    reaches is searched for cycles, since every cycle that `new` closes leads through it. `over`
    says what has become of those that exist and that nobody can wait for any more.
    """
    merged: dict[Node, Collection[Node]] = {**known, **new}
    for job, upstreams in new.items():
        _check_upstreams(job, upstreams, merged, over or {})
    reached = [*new, *upstream(merged, new)]
    cycle = find_cycle({job: merged.get(job, ()) for job in reached})
    if cycle:
        raise _closed(cycle)


def _check_upstreams(
    job: Node, upstreams: Sequence[Node], exists: Collection[Node], over: Mapping[Node, str]
) -> None:
    if job in upstreams:
        raise InvalidGraph("after", f"{job} waits for itself; take it out of its own upstreams")
    twice = [node for node, times in Counter(upstreams).items() if times > 1]
    if twice:
        raise InvalidGraph("after", f"{_some(twice)} is named twice; name each upstream once")
    for place, node in enumerate(upstreams):
        if node not in exists and node in over:
            wrong = f"job {node} is {over[node]} and runs no more; wait for another"
            raise InvalidGraph(f"after[{place}]", wrong)
    unknown = [node for node in upstreams if node not in exists]
    if unknown:
        # Not who waits for them: a job that is refused has an id that nobody was told.
        wrong = f"unknown {_some(unknown)}; submit upstreams first or together"
        raise InvalidGraph(f"after[{upstreams.index(unknown[0])}]", wrong)


def topological_order(edges: Mapping[Node, Iterable[Node]]) -> list[Node]:
    """Every job after all of its upstreams; a graph with a cycle is refused, by its path.

    Nodes that occur only as upstreams are part of the order. Same edges in the same order, same
    answer.
    """
    order, stuck = _peel(edges)
    if stuck:
        raise _closed(_cycle_among(stuck, edges))
    return order


def find_cycle(edges: Mapping[Node, Iterable[Node]]) -> list[Node] | None:
    """The path of one cycle, each waiting for the next, its first node again at the end."""
    _, stuck = _peel(edges)
    return _cycle_among(stuck, edges) if stuck else None


def downstream(edges: Mapping[Node, Iterable[Node]], roots: Iterable[Node]) -> set[Node]:
    """All that waits for a root, near or far; a root only where it waits for another root."""
    return _reach(_reversed(edges), roots)


def upstream(edges: Mapping[Node, Iterable[Node]], roots: Iterable[Node]) -> set[Node]:
    """All that a root waits for, near or far; a root only where another root waits for it."""
    return _reach(edges, roots)


def _peel(edges: Mapping[Node, Iterable[Node]]) -> tuple[list[Node], dict[Node, int]]:
    """Take away, again and again, whoever waits for nobody (Kahn): the order, and who is stuck."""
    below = _reversed(edges)
    waits_for = dict.fromkeys(below, 0)
    for dependents in below.values():
        for job in dependents:
            waits_for[job] += 1
    order = [node for node, count in waits_for.items() if count == 0]
    for node in order:  # grows while it is walked
        for job in below[node]:
            waits_for[job] -= 1
            if waits_for[job] == 0:
                order.append(job)
    return order, {node: count for node, count in waits_for.items() if count}


def _cycle_among(stuck: Mapping[Node, int], edges: Mapping[Node, Iterable[Node]]) -> list[Node]:
    """Walk upwards. Whoever is stuck waits for one who is stuck, so the walk meets itself."""
    node = next(iter(stuck))
    step_of: dict[Node, int] = {}
    while node not in step_of:
        step_of[node] = len(step_of)
        node = next(above for above in edges[node] if above in stuck)
    return [*list(step_of)[step_of[node] :], node]


def _reversed(edges: Mapping[Node, Iterable[Node]]) -> dict[Node, list[Node]]:
    below: dict[Node, list[Node]] = {}
    for job, upstreams in edges.items():
        below.setdefault(job, [])
        for node in upstreams:
            below.setdefault(node, []).append(job)
    return below


def _reach(neighbours: Mapping[Node, Iterable[Node]], roots: Iterable[Node]) -> set[Node]:
    reached: set[Node] = set()
    ahead = list(roots)
    while ahead:
        fresh = [node for node in neighbours.get(ahead.pop(), ()) if node not in reached]
        reached.update(fresh)
        ahead.extend(fresh)
    return reached


def _closed(cycle: Sequence[Node]) -> InvalidGraph:
    names = [str(node) for node in cycle]
    if len(names) > 2 * _NAMES_SHOWN:
        hidden = len(names) - 2 * _NAMES_SHOWN
        names[_NAMES_SHOWN:-_NAMES_SHOWN] = [f"({hidden} more)"]
    path = " → ".join(names)
    return InvalidGraph("after", f"{path} is a cycle, each waits for the next; remove one edge")


def _some(nodes: Sequence[Node]) -> str:
    named = ", ".join(str(node) for node in nodes[:_NAMES_SHOWN])
    hidden = len(nodes) - _NAMES_SHOWN
    return f"{named} and {hidden} more" if hidden > 0 else named
