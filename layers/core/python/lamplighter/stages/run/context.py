"""What the stage hands to a target. Costs next to nothing until somebody prints or waits."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager

from lamplighter.domain.run import Claimed
from lamplighter.domain.target import Secret
from lamplighter.ports.logs import LogName, Logs
from lamplighter.ports.target import Secrets, Stopped
from lamplighter.stages.run.keeping import Mask
from lamplighter.stages.run.limits import Limits, Timeout
from lamplighter.stages.run.output import NOTHING, Captured, Output, Stream
from lamplighter.stages.run.stop import Stop


class RunContext:
    __slots__ = ("_limits", "_logs", "_output", "_secrets", "deadline", "mask", "run", "stop",
                 "timeout")  # fmt: skip

    def __init__(  # noqa: PLR0913 - one of these per run, built in one place
        self,
        run: Claimed,
        timeout: Timeout,
        stop: Stop,
        *,
        limits: Limits,
        logs: Logs,
        secrets: Secrets,
    ) -> None:
        self.run = run
        self.timeout = timeout
        self.stop = stop
        self.deadline = time.monotonic() + timeout.seconds
        self.mask = Mask()
        self._limits = limits
        self._logs = logs
        self._secrets = secrets
        self._output: Output | None = None

    @property
    def timeout_seconds(self) -> float:
        return self.timeout.seconds

    @property
    def output(self) -> Output:
        if self._output is None:
            name = LogName(self.run.tenant, self.run.run_id, self.run.fence)
            self._output = Output(self._limits, self.mask, lambda: self._logs.open(name))
        return self._output

    @property
    def stdout(self) -> Stream:
        return self.output.stdout

    @property
    def stderr(self) -> Stream:
        return self.output.stderr

    def captured(self) -> Captured:
        return self._output.close() if self._output else NOTHING

    def remaining(self) -> float:
        return max(0.0, self.deadline - time.monotonic())

    def cancelled(self) -> bool:
        return self.stop.requested()

    def on_stop(self, callback: Callable[[], None]) -> AbstractContextManager[None]:
        return self.stop.calling(callback)

    def sleep(self, seconds: float) -> None:
        if self.stop.wait(seconds):
            raise Stopped

    def reveal(self, value: str | Secret) -> str:
        if isinstance(value, str):
            return value
        revealed = self._secrets.resolve(self.run.tenant, value.secret)
        self.mask.add(revealed)
        return revealed
