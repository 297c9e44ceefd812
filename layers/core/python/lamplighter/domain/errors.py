"""Every refusal that a person can meet, in words that say what to do about it."""


class LamplighterError(Exception):
    """The root: catch this to catch all that Lamplighter says on purpose."""


class InvalidJob(LamplighterError):
    """A field of a submission is wrong; names the field and the fix."""

    def __init__(self, field: str, fix: str) -> None:
        super().__init__(f"{field}: {fix}")
        self.field = field
        self.fix = fix


class InvalidSchedule(InvalidJob):
    """A field of the schedule is wrong: no such zone, an impossible date, a time in the past."""


class InvalidGraph(InvalidJob):
    """Upstreams that do not exist, that close a cycle, or that never share a fire."""


class JobNotFound(LamplighterError):
    """No job has this id, or its retention has passed."""


class RunNotFound(LamplighterError):
    """No run has this id, or its retention has passed."""


class JobEnded(LamplighterError):
    """The job was cancelled or rejected; it can be read, not changed. Submit a new one."""


class VersionConflict(LamplighterError):
    """Somebody changed the job since it was read. Read it again, then change it."""


class IdempotencyConflict(LamplighterError):
    """This Idempotency-Key was used before with another body. Use a new key for a new job."""


class LeaseLost(LamplighterError):
    """Another watcher leads now. Whatever was about to be written was not."""


class LedgerUnavailable(LamplighterError):
    """The ledger cannot be reached or did not answer in time. Nothing is known to have changed."""
