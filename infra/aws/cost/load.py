"""A load: how many runs, when, and how they were submitted."""

from dataclasses import dataclass
from typing import Final

from infra.aws.cost.prices import DAYS

SINGLE: Final = "single"
BULK: Final = "bulk"
RECURRING: Final = "recurring"


@dataclass(frozen=True)
class Load:
    """Runs a day, within so many hours of it, and how they were submitted."""

    runs_a_day: float = 0.0
    submission: str = BULK
    hours_a_day: float = 24.0

    @property
    def rate(self) -> float:
        """A second, while there are any."""
        return self.runs_a_day / (self.hours_a_day * 3600)

    @property
    def runs(self) -> float:
        """A month."""
        return self.runs_a_day * DAYS


# Without runs there are no hours of them either; not quite 0, since a rate is per hour.
NOTHING: Final = Load(hours_a_day=1e-9)
