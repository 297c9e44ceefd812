"""The graphs that are measured have the size and shape that they are called by."""

import pytest

from benchmarks.dag import Graph, chain, fan_in, fan_out, steps
from lamplighter.domain.graph import check_graph


@pytest.mark.parametrize("graph", [chain(500), fan_out(500), fan_in(500), fan_in(10_000)])
def test_a_graph_is_whole_and_may_be_submitted(graph: Graph) -> None:
    check_graph(graph, {})

    assert len(graph) in {500, 10_000}
    assert max(map(len, graph.values())) <= 1_000
    assert [node for node, upstreams in graph.items() if not upstreams] == [next(iter(graph))]


def test_a_step_counts_from_the_last_upstream() -> None:
    graph = {"a": [], "b": ["a"], "c": ["a", "b"]}

    assert steps(graph, {"a": 1.0, "b": 3.0, "c": 3.5}) == [2.0, 0.5]
