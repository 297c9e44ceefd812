"""Run: the stage that executes what was claimed. `Runner` is its door."""

from lamplighter.stages.run.limits import CLASS_SECONDS, Limits, timeout_of
from lamplighter.stages.run.runner import Runner
from lamplighter.stages.run.shift import Shift

__all__ = ["CLASS_SECONDS", "Limits", "Runner", "Shift", "timeout_of"]
