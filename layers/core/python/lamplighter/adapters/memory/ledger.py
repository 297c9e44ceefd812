"""The ledger in memory, whole: what simulations run on, and what proves the suite itself."""

from lamplighter.adapters.memory.calendars import MemoryCalendars
from lamplighter.adapters.memory.changes import MemoryChanges
from lamplighter.adapters.memory.claims import MemoryClaims
from lamplighter.adapters.memory.horizon import MemoryHorizon
from lamplighter.adapters.memory.idempotency import MemoryKeys
from lamplighter.adapters.memory.leases import MemoryLeases
from lamplighter.adapters.memory.losses import MemoryLosses
from lamplighter.adapters.memory.outcomes import MemoryOutcomes
from lamplighter.adapters.memory.overdue import MemoryOverdue
from lamplighter.adapters.memory.reads import MemoryReads
from lamplighter.adapters.memory.reschedule import MemoryReschedule
from lamplighter.adapters.memory.rollups import MemoryRollups
from lamplighter.adapters.memory.submissions import MemorySubmissions
from lamplighter.adapters.memory.upkeep import MemoryUpkeep


class MemoryLedger(
    MemorySubmissions,
    MemoryClaims,
    MemoryLosses,
    MemoryOverdue,
    MemoryOutcomes,
    MemoryChanges,
    MemoryReschedule,
    MemoryHorizon,
    MemoryLeases,
    MemoryCalendars,
    MemoryKeys,
    MemoryUpkeep,
    MemoryRollups,
    MemoryReads,
):
    """Fulfils the port `Ledger`; the conformance suite proves it, and mypy where it is passed."""
