"""A batch first goes the way that most of the last one went."""

import pytest

from lamplighter.adapters.postgres.alone import Order


@pytest.mark.parametrize(
    ("batches", "alone_first"),
    [
        pytest.param([], False, id="at first"),
        pytest.param([(1, 2)], True, id="most alone"),
        pytest.param([(1, 2), (0, 0)], True, id="a batch that was all judged says nothing"),
        pytest.param([(1, 2), (3, 0)], False, id="most plain"),
    ],
)
def test_the_way_of_the_last_batch_comes_first(
    batches: list[tuple[int, int]], alone_first: bool
) -> None:
    order = Order()
    for plain, alone in batches:
        order.learn(plain=plain, alone=alone)
    assert order.alone_first is alone_first
