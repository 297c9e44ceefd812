"""A batch first goes the way that most of the last one went; whichever that is, all are claimed."""

from lamplighter.adapters.postgres.alone import Order


def test_the_way_of_the_last_batch_comes_first() -> None:
    order = Order()
    assert not order.alone_first
    order.learn(plain=1, alone=2)
    assert order.alone_first
    order.learn(plain=0, alone=0)
    assert order.alone_first  # a batch that was all judged says nothing
    order.learn(plain=3, alone=0)
    assert not order.alone_first
