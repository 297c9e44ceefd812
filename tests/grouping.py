"""A plugin: `--dist loadgroup` keeps the tests of a group on one worker.

xdist (3.8) writes the group behind a test's id into `_nodeid`; pytest (9.2) keeps ids in `_id` and
looks at no `_nodeid`. So every test was a group of its own, and each worker started a server of
every kind. Once xdist writes where pytest reads, the two agree and nothing is left to do here.
"""

import pytest
from _pytest.nodeid import NodeId


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        grouped = vars(item).get("_nodeid")
        if grouped is not None and grouped != item.nodeid:
            item._id = NodeId.parse(grouped)
