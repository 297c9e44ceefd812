"""Telemetry: what the functions tell of themselves. Metrics, and lines of the log."""

from lamplighter.telemetry.emf import Telemetry, to_stdout

__all__ = ["Telemetry", "to_stdout"]
