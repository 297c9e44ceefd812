"""The supervisor, with small programs in place of components."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from infra.local import supervisor as module
from infra.local.child import Command
from infra.local.errors import ServiceFailed
from infra.local.part import Component, mark_in
from infra.local.supervisor import Backoff, Supervisor
from tests.infra.local.waiting import gone, wait_until

LIVES = """
import pathlib, signal, sys
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
pathlib.Path(sys.argv[1]).touch()
while True: signal.pause()
"""
# Ready, and gone a moment later.
DIES = "import pathlib, sys; pathlib.Path(sys.argv[1]).touch(); sys.exit('no lamp oil')"
# Lives at its first start only.
FAILS_LATER = f"""
import os, sys
first = sys.argv[1] + '.first'
if os.path.exists(first): sys.exit('no lamp oil')
open(first, 'w').close()
{LIVES}
"""


class Watch:
    """A supervisor, what it has said, and how often something has changed."""

    def __init__(self, folder: Path, lock: int) -> None:
        self.folder = folder
        self.said: list[str] = []
        self.changes = 0
        self._lock = lock
        self.supervisor = Supervisor(say=self._say, changed=self._changed)

    def _say(self, line: str) -> None:
        self.said.append(click.unstyle(line))

    def _changed(self) -> None:
        self.changes += 1

    def component(self, name: str, program: str = LIVES) -> Component:
        arguments = [sys.executable, "-c", program, str(mark_in(self.folder, name))]
        command = Command(arguments, dict(os.environ), grace_seconds=5)
        return Component(name, command, self.folder, lock=self._lock, answers=lambda: True)

    def start(self, *parts: Component) -> None:
        self.supervisor.start(parts, lambda part, _: self.said.append(f"{part.name} started"))

    def tick_until(self, condition: Callable[[], bool], what: str) -> None:
        def look() -> bool:
            self.supervisor.tick()
            return condition()

        wait_until(look, what)

    def heard(self, *words: str) -> bool:
        return any(all(word in line for word in words) for line in self.said)


@pytest.fixture
def watch(folder: Path) -> Iterator[Watch]:
    with (folder / "lock").open("w") as lock:
        watch = Watch(folder, lock.fileno())
        yield watch
        watch.supervisor.stop()


def test_a_component_that_dies_is_started_again_and_said(watch: Watch) -> None:
    component = watch.component("recorder")
    watch.start(component)
    [keeper] = watch.supervisor.keepers
    first = keeper.pid
    assert first is not None

    os.kill(first, signal.SIGKILL)
    watch.tick_until(lambda: keeper.restarts == 1, "its return")

    assert watch.heard("recorder", "killed by SIGKILL after", "again in 0.2 s")
    assert watch.heard("recorder", f"process {component.pid}", "restarted once")
    assert keeper.pid == component.pid != first
    assert watch.changes == 2


def test_one_that_dies_at_once_shows_the_end_of_its_log_and_waits_longer_each_time(
    watch: Watch,
) -> None:
    watch.start(watch.component("worker-1", DIES))

    watch.tick_until(lambda: watch.heard("again in 0.8 s"), "the third death")

    waits = [line[-5:] for line in watch.said if "again in" in line]
    assert waits[:3] == ["0.2 s", "0.4 s", "0.8 s"]
    assert watch.heard(f"The end of {watch.folder / 'worker-1.log'}", "    no lamp oil")


def test_one_that_cannot_start_again_is_tried_on(watch: Watch) -> None:
    component = watch.component("resolver", FAILS_LATER)
    watch.start(component)
    [keeper] = watch.supervisor.keepers

    os.kill(component.pid, signal.SIGKILL)
    watch.tick_until(lambda: watch.heard("failed", "did not start: ended with code 1"), "a failure")

    assert keeper.pid is None
    (watch.folder / "resolver.ready.first").unlink()
    watch.tick_until(lambda: keeper.restarts == 1, "its return")
    assert keeper.pid == component.pid


def test_one_that_cannot_start_at_first_ends_the_attempt(watch: Watch) -> None:
    with pytest.raises(ServiceFailed, match="gateway did not start: ended with code 1") as failed:
        watch.start(
            watch.component("watcher-1"), watch.component("gateway", "raise SystemExit('no port')")
        )

    assert "    no port" in str(failed.value)


def test_what_takes_work_in_stops_first(watch: Watch) -> None:
    names = ["resolver", "executor-1", "gateway", "recorder", "worker-1", "watcher-2", "postgres"]
    parts = [watch.component(name) for name in names]
    watch.start(*parts)
    pids = [part.pid for part in parts]

    watch.supervisor.stop()

    order = [line.split()[0] for line in watch.said if "stopped" in line]
    assert order == [
        "gateway", "watcher-2", "executor-1", "worker-1", "recorder", "resolver", "postgres"
    ]  # fmt: skip
    assert all(map(gone, pids))


def test_stopping_does_not_wait_for_a_start_that_takes_long(watch: Watch) -> None:
    never = watch.component("executor-1", LIVES.replace("pathlib.Path(sys.argv[1]).touch()", ""))
    component = watch.component("recorder")
    watch.start(component)
    watch.supervisor.keepers.append(module.Keeper(never))
    watch.tick_until(never.running, "a start under way")

    stopping = threading.Thread(target=watch.supervisor.stop)
    stopping.start()
    stopping.join(Component.start_seconds / 2)

    assert not stopping.is_alive()
    assert not never.running()
    assert not component.running()


def test_a_large_log_is_moved_aside_while_it_is_written(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOG_CHECK_SECONDS", 0.0)
    component = watch.component("recorder")
    watch.start(component)
    with component.log.open("ab") as writer:
        writer.write(b"x" * (20 * 1024 * 1024 + 1))
        writer.flush()

        watch.supervisor.tick()
        writer.write(b"and on")

    assert component.log.read_bytes() == b"and on"
    assert (watch.folder / "recorder.log.before").stat().st_size > 20 * 1024 * 1024


def test_waits_double_up_to_a_limit_and_begin_anew_after_a_life() -> None:
    backoff = Backoff()

    waits = [backoff.after(1) for _ in range(8)]

    assert waits == [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10.0, 10.0]
    assert [backoff.after(31), backoff.after(1)] == [0.2, 0.4]


STARTER = """
import sys
from pathlib import Path
from tests.infra.local.test_supervisor import Watch
folder = Path(sys.argv[1])
with (folder / "lock").open("w") as lock:
    watch = Watch(folder, lock.fileno())
    watch.start(watch.component("gateway"), watch.component("recorder"))
    print(*(each.pid for each in watch.supervisor.keepers), flush=True)
    sys.stdin.read()
"""


def test_components_end_when_their_starter_is_killed(folder: Path) -> None:
    program = [sys.executable, "-c", STARTER, str(folder)]
    with subprocess.Popen(
        program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        cwd=Path(__file__).parents[3],
    ) as starter:  # fmt: skip
        assert starter.stdout
        pids = [int(pid) for pid in starter.stdout.readline().split()]

        starter.kill()

    assert len(pids) == 2
    wait_until(lambda: all(map(gone, pids)), "the end of the components")
