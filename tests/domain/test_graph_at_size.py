"""Graphs of 10,000 jobs and fan-ins of 1,000: chain, fan-out, fan-in, layers, and a ring."""

import random
from collections.abc import Callable, Iterator

import pytest

from lamplighter.domain.errors import InvalidGraph
from lamplighter.domain.graph import (
    check_graph,
    downstream,
    find_cycle,
    topological_order,
    upstream,
)

Graph = dict[int, list[int]]

SIZE = 10_000


def chain() -> Graph:
    return {node: [node - 1] if node else [] for node in range(SIZE)}


def fan_out() -> Graph:
    return {node: [0] if node else [] for node in range(SIZE)}


def fan_in() -> Graph:
    """Ten jobs, each waiting for a thousand of its own."""
    joins = {n * 1000: list(range(n * 1000 + 1, n * 1000 + 1001)) for n in range(10)}
    return {**{node: [] for node in range(SIZE + 1)}, **joins}


def layered() -> Graph:
    """A hundred layers of a hundred, each job with ten upstreams in the layer above."""
    rng = random.Random(3)  # noqa: S311 - the same graph every time
    return {
        node: rng.sample(range(node // 100 * 100 - 100, node // 100 * 100), 10)
        if node >= 100
        else []
        for node in range(SIZE)
    }


def everything_at_once() -> Graph:
    """The two layers that have the most edges: a thousand jobs, each waiting for all of 100."""
    return {node: list(range(100)) if node >= 100 else [] for node in range(1100)}


@pytest.mark.parametrize("make", [chain, fan_out, fan_in, layered, everything_at_once])
def test_a_large_graph_is_ordered_and_accepted(make: Callable[[], Graph]) -> None:
    edges = make()
    place = {node: number for number, node in enumerate(topological_order(edges))}
    assert place.keys() == edges.keys()
    assert all(place[above] < place[job] for job, ups in edges.items() for above in ups)
    check_graph(edges, {})


def test_a_cycle_of_ten_thousand_is_found_and_shortened() -> None:
    ring = {**chain(), 0: [SIZE - 1]}
    cycle = find_cycle(ring)
    assert cycle is not None
    assert len(cycle) == SIZE + 1
    shown = r"0 → 9999 → 9998 → 9997 → 9996 → \(9991 more\) → 4 → 3 → 2 → 1 → 0 is a cycle"
    with pytest.raises(InvalidGraph, match=shown):
        check_graph(ring, {})


def test_reach_goes_through_a_chain_of_ten_thousand() -> None:
    assert len(downstream(chain(), [0])) == SIZE - 1
    assert len(upstream(chain(), [SIZE - 1])) == SIZE - 1


def test_the_work_grows_with_the_edges_and_no_faster() -> None:
    edges = {job: Counted(upstreams) for job, upstreams in layered().items()}
    topological_order(edges)
    assert find_cycle(edges) is None
    assert sum(upstreams.walks for upstreams in edges.values()) == 2 * SIZE


class Counted(list[int]):
    """Upstreams that know how often they were walked through."""

    walks = 0

    def __iter__(self) -> Iterator[int]:
        self.walks += 1
        return super().__iter__()
