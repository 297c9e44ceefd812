"""Runs a line in `/bin/sh`, and ends everything that it started."""

import signal
import tempfile
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Final

from lamplighter.adapters.targets.command.environment import environment_of, standard_input
from lamplighter.adapters.targets.command.keeper import KILL_SECONDS
from lamplighter.adapters.targets.command.launching import Ended, Keeper, Request
from lamplighter.domain.target import NO_COMMANDS, CommandSpec
from lamplighter.ports.target import Context, Sink, TargetFailed, TargetResult

# Not found, not executable: so it will be next time.
_NEVER_STARTED: Final = (126, 127)
_LAST_WORDS: Final = 300


class CommandTarget:
    def __init__(self) -> None:
        self._keeper = Keeper()

    def run(self, spec: CommandSpec, context: Context) -> TargetResult:
        with ExitStack() as stack:
            cwd = spec.cwd or stack.enter_context(_own_folder())
            if not Path(cwd).is_dir():
                raise TargetFailed(f"cwd {cwd} is no folder on this worker", retryable=False)
            given = {name: context.reveal(value) for name, value in spec.env.items()}
            environment = environment_of(context.run) | given
            request = Request(spec.command, cwd, environment, spec.grace_seconds)
            stdin = stack.enter_context(standard_input(context.run.payload))
            process = stack.enter_context(closing(self._keeper.launch(request, stdin)))
            stack.enter_context(context.on_stop(process.stop))
            last_words = _LastWords(context.stderr)
            ended = process.follow(context.stdout, last_words)
        return _judge(ended, context, last_words)

    def is_quick(self, _spec: CommandSpec) -> bool:
        return False

    def patience(self, spec: CommandSpec) -> float:
        return spec.grace_seconds + KILL_SECONDS + 1


class NoCommands:
    """In its place, on a worker that runs none; one that comes was submitted before that."""

    def run(self, _spec: CommandSpec, context: Context) -> TargetResult:
        raise TargetFailed(f"in pool {context.run.pool} {NO_COMMANDS}", retryable=False)

    def is_quick(self, _spec: CommandSpec) -> bool:
        return False

    def patience(self, _spec: CommandSpec) -> float:
        return 1.0


def _own_folder() -> "tempfile.TemporaryDirectory[str]":
    return tempfile.TemporaryDirectory(prefix="lamplighter-run-", ignore_cleanup_errors=True)


def _judge(ended: Ended, context: Context, last_words: "_LastWords") -> TargetResult:
    if ended.left_running:
        note = f"[lamplighter: ended {ended.left_running} process(es) that the command had left]\n"
        context.stderr.write(note.encode())
    if ended.exit_code == 0:
        return TargetResult({"exit_code": 0})
    said = f": {last_words}" if str(last_words) else ""
    raise TargetFailed(
        f"exit code {ended.exit_code}{_meaning(ended.exit_code)}{said}",
        retryable=ended.exit_code not in _NEVER_STARTED,
    )


def _meaning(code: int) -> str:
    if code in _NEVER_STARTED:
        return " (not found)" if code == 127 else " (not executable)"
    try:
        name = signal.Signals(code - 128).name
    except ValueError:
        return ""
    often = ", often for want of memory" if name == "SIGKILL" else ""
    return f" (ended by {name}{often})"


class _LastWords:
    """Passes stderr on, and remembers its last line: that is usually the reason."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._tail = b""

    def write(self, data: bytes) -> None:
        self._sink.write(data)
        self._tail = (self._tail + data[-1024:])[-1024:]

    def __str__(self) -> str:
        lines = self._tail.decode(errors="replace").strip().splitlines()
        return lines[-1].strip()[-_LAST_WORDS:] if lines else ""
