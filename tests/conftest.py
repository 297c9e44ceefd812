"""Real services for every test that asks for one, and honest last words about what was not run."""

import os
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from infra.local.kafka.server import Kafka
from infra.local.postgres import Postgres
from infra.local.tools import NEEDED_BY, Verdict, judge, missing
from infra.local.valkey import Valkey
from tests import grouping

# No power cut happens to a test's data. What a crash of the server does is the same without it.
FAST: Final = {"fsync": "off", "full_page_writes": "off", "max_connections": "200"}


@contextmanager
def _folder() -> Iterator[Path]:
    """A folder for a service. Not tmp_path: its parents are closed to other users, and PostgreSQL
    is one where the tests run as root; also, its names are too long for a Unix socket."""
    with tempfile.TemporaryDirectory(prefix="lamplighter-") as made:
        yield Path(made)


@pytest.fixture
def folder() -> Iterator[Path]:
    with _folder() as made:
        yield made


# One server of each kind per xdist worker, started when first asked for.


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Postgres]:
    with _folder() as made, Postgres(made, settings=FAST) as server:
        yield server


@pytest.fixture(scope="session")
def postgres16_server() -> Iterator[Postgres]:
    with _folder() as made, Postgres(made, version=16, settings=FAST) as server:
        yield server


@pytest.fixture(scope="session")
def valkey_server() -> Iterator[Valkey]:
    with _folder() as made, Valkey(made) as server:
        yield server


@pytest.fixture(scope="session")
def kafka_server() -> Iterator[Kafka]:
    with _folder() as made, Kafka(made) as server:
        yield server


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark who uses Kafka, keep those on one worker (one broker), and skip what has no tool."""
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        if "postgres16_server" in fixtures:
            item.add_marker(pytest.mark.xdist_group("postgres16"))
        if "kafka_server" in fixtures:
            item.add_marker("kafka")
        if item.get_closest_marker("kafka"):
            item.add_marker(pytest.mark.xdist_group("kafka"))
        for marker in filter(item.get_closest_marker, NEEDED_BY):
            if absent := missing(NEEDED_BY[marker]):
                titles = " and ".join(tool.title for tool in absent)
                item.add_marker(pytest.mark.skip(reason=f"needs {titles}"))


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(_LastWords(config), "last-words")
    config.pluginmanager.register(grouping, "grouping")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What was measured on the way; no test fails by it."""
    reports = terminalreporter.stats.get("passed", [])
    told = [each for report in reports for each in report.user_properties]
    for what, ms in [each for name, each in told if name == "cold start"]:
        terminalreporter.write_line(f"cold start of {what}: {ms:.0f} ms")


class _LastWords:
    """Counts what was skipped for want of a tool, and says it when everything else is said."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._skipped = Counter[str]()
        self._is_worker = hasattr(config, "workerinput")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for marker, tools in NEEDED_BY.items():
            if report.skipped and marker in report.keywords and missing(tools):
                self._skipped[marker] += 1

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._verdict().fails and not self._is_worker:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_unconfigure(self) -> None:
        """After pytest's own last line: what nobody reads is not said."""
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        if terminal and not self._is_worker:
            for line in self._verdict().lines:
                terminal.write_line(line, red=True, bold=True)

    def _verdict(self) -> Verdict:
        absent = {marker: missing(tools) for marker, tools in NEEDED_BY.items()}
        ci = os.environ.get("CI", "").lower() in {"1", "true"}
        return judge(self._skipped, absent, ci=ci)
