"""Order, cycles and reach, against the standard library and a naive walk."""

from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.domain.errors import InvalidGraph
from lamplighter.domain.graph import (
    check_graph,
    downstream,
    find_cycle,
    topological_order,
    upstream,
)

Graph = dict[str, list[str]]
CYCLE = "is a cycle, each waits for the next; remove one edge"
IntGraph = Mapping[int, Sequence[int]]

nodes = st.integers(0, 7)
graphs = st.dictionaries(nodes, st.lists(nodes, max_size=4), max_size=8)
# Every upstream has a smaller number, so there is no cycle.
dags = graphs.map(lambda graph: {job: [u for u in ups if u < job] for job, ups in graph.items()})


def has_cycle(edges: IntGraph) -> bool:
    try:
        list(TopologicalSorter(edges).static_order())
    except CycleError:
        return True
    return False


def naive_upstream(edges: IntGraph, root: int) -> set[int]:
    """Widen step by step until nothing is added."""
    found = set(edges.get(root, ()))
    while True:
        wider = found.union(*(edges.get(node, ()) for node in found))
        if wider == found:
            return found
        found = wider


def assert_order(edges: IntGraph, order: Sequence[int]) -> None:
    place = {node: number for number, node in enumerate(order)}
    assert len(place) == len(order)
    assert set(place) == set(edges).union(*edges.values())
    assert all(place[above] < place[job] for job, ups in edges.items() for above in ups)


@given(graphs)
def test_a_cycle_is_found_exactly_where_there_is_one(edges: IntGraph) -> None:
    cycle = find_cycle(edges)
    assert (cycle is not None) == has_cycle(edges)
    if cycle:
        assert cycle[0] == cycle[-1]
        assert len(set(cycle)) == len(cycle) - 1
        assert all(above in edges[job] for job, above in pairwise(cycle))


@given(dags)
def test_an_order_has_every_job_once_after_its_upstreams(edges: IntGraph) -> None:
    assert_order(edges, topological_order(edges))


@given(graphs)
def test_what_has_a_cycle_has_no_order(edges: IntGraph) -> None:
    if has_cycle(edges):
        with pytest.raises(InvalidGraph, match="is a cycle"):
            topological_order(edges)
    else:
        assert_order(edges, topological_order(edges))


@given(graphs, st.lists(nodes, max_size=3))
def test_upstream_is_what_a_naive_walk_finds(edges: IntGraph, roots: list[int]) -> None:
    expected = set().union(*(naive_upstream(edges, root) for root in roots))
    assert upstream(edges, roots) == expected


@given(graphs, st.lists(nodes, max_size=3))
def test_downstream_is_whoever_has_a_root_upstream(edges: IntGraph, roots: list[int]) -> None:
    expected = {job for job in edges if naive_upstream(edges, job) & set(roots)}
    assert downstream(edges, roots) == expected


@given(dags, graphs)
def test_new_edges_are_refused_exactly_where_the_whole_would_be(
    known: IntGraph, new: IntGraph
) -> None:
    complete = {**dict.fromkeys(range(8), ()), **known}
    distinct = {job: sorted(set(ups) - {job}) for job, ups in new.items()}
    if has_cycle({**complete, **distinct}):
        with pytest.raises(InvalidGraph, match="is a cycle"):
            check_graph(distinct, complete)
    else:
        check_graph(distinct, complete)


def test_the_same_edges_give_the_same_order() -> None:
    edges = {"report": ["clean", "load"], "clean": ["load"], "load": [], "audit": ["load"]}
    assert topological_order(edges) == ["load", "clean", "audit", "report"]


@pytest.mark.parametrize(
    ("new", "known", "message"),
    [
        ({"a": ["a"]}, {}, "a waits for itself; take it out of its own upstreams"),
        ({"a": ["b", "b"]}, {"b": []}, "b is named twice; name each upstream once"),
        ({"a": ["b"], "b": ["a"]}, {}, f"a → b → a {CYCLE}"),
        ({"a": ["c"]}, {"a": [], "b": ["a"], "c": ["b"]}, f"a → c → b → a {CYCLE}"),
    ],
    ids=["itself", "twice", "among the new", "through the known"],
)
def test_a_refusal_names_who_and_what_to_do(new: Graph, known: Graph, message: str) -> None:
    with pytest.raises(InvalidGraph) as refused:
        check_graph(new, known)
    assert (refused.value.field, refused.value.fix) == ("after", message)


def test_an_unknown_upstream_is_named_by_its_place() -> None:
    with pytest.raises(InvalidGraph) as refused:
        check_graph({"a": ["b", "c"]}, {"b": []})
    wrong = "unknown c; submit upstreams first or together"
    assert (refused.value.field, refused.value.fix) == ("after[1]", wrong)


def test_an_upstream_that_is_over_is_not_called_unknown() -> None:
    with pytest.raises(InvalidGraph) as refused:
        check_graph({"a": ["b", "c"]}, {"b": []}, {"c": "CANCELLED"})
    wrong = "job c is CANCELLED and runs no more; wait for another"
    assert (refused.value.field, refused.value.fix) == ("after[1]", wrong)


def test_an_edit_replaces_the_old_upstreams() -> None:
    known = {"a": ["b"], "b": [], "c": []}
    check_graph({"a": ["c"], "b": ["a"]}, known)


def test_an_old_cycle_elsewhere_is_not_blamed_on_a_new_job() -> None:
    check_graph({"new": ["c"]}, {"a": ["b"], "b": ["a"], "c": []})


def test_known_upstreams_that_have_left_do_not_matter() -> None:
    check_graph({"new": ["a"]}, {"a": ["long gone"]})


@pytest.mark.parametrize(
    ("count", "others"), [(5, ""), (6, " and 1 more"), (1000, " and 995 more")]
)
def test_many_unknown_upstreams_make_a_short_message(count: int, others: str) -> None:
    with pytest.raises(InvalidGraph, match=f"unknown u0, u1, u2, u3, u4{others};"):
        check_graph({"a": [f"u{number}" for number in range(count)]}, {})


@pytest.mark.parametrize(
    ("size", "path"),
    [
        (9, "0 → 8 → 7 → 6 → 5 → 4 → 3 → 2 → 1 → 0"),
        (12, "0 → 11 → 10 → 9 → 8 → (3 more) → 4 → 3 → 2 → 1 → 0"),
    ],
)
def test_a_cycle_is_named_in_full_up_to_ten_names(size: int, path: str) -> None:
    ring = {node: [(node - 1) % size] for node in range(size)}
    with pytest.raises(InvalidGraph) as refused:
        topological_order(ring)
    assert refused.value.fix == f"{path} {CYCLE}"
