"""For whoever leads: the watcher, and what it looks at."""

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING

from lamplighter.settings import Bus as BusKind
from lamplighter.stages.clock import this_machine
from lamplighter.wiring.around import process, settings, telemetry, tracer
from lamplighter.wiring.buses import bus
from lamplighter.wiring.once import once
from lamplighter.wiring.running import recorder
from lamplighter.wiring.stores import gate, ledger, queue, rest

if TYPE_CHECKING:
    from lamplighter.stages.capacity import Window
    from lamplighter.stages.duties import Report
    from lamplighter.stages.standing import Gauge
    from lamplighter.stages.thrift import ThriftyWatcher
    from lamplighter.stages.watch import Watcher


def watcher() -> "Watcher | ThriftyWatcher":
    if not settings().thrifty:
        return _watcher()
    from lamplighter.stages.thrift import ThriftyWatcher

    return ThriftyWatcher(
        ledger(),
        rest(),
        gate(),
        queue(),
        _watcher,
        holder=process(),
        now=this_machine,
        let_go=ledger().let_go,
    )


def _watcher(
    report: "Report | None" = None, on_renewal: Callable[[], None] = lambda: None
) -> "Watcher":
    from lamplighter.stages.watch import Watcher

    return Watcher(
        ledger(),
        queue(),
        bus(),
        holder=process(),
        window=_window(),
        retention=timedelta(days=settings().retention_days),
        days_ahead=timedelta(days=settings().partition_days_ahead),
        report=report,
        on_renewal=on_renewal,
        gauge=_gauge() if telemetry().is_on else None,
        tracer=tracer(),
        recorder=recorder(),
    )


def _window() -> "Window":
    from lamplighter.stages.capacity import Window

    given = settings()
    if given.bus is BusKind.SQS:  # bills every question, and its counts are seconds old anyway
        return Window(bus(), given.windows(), every_seconds=1.0, at_rest_seconds=60.0)
    return Window(bus(), given.windows(), mapped=given.pools_of_mappings())


@once
def _gauge() -> "Gauge":
    from lamplighter.stages.standing import Gauge

    given = settings()
    return Gauge(
        telemetry(), ledger(), queue(), bus(), given.windows(), mapped=given.pools_of_mappings()
    )
