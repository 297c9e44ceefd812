"""The checker: proves from the ledger that promises 1 to 3 were kept, fire by fire.

`case` is what is known of a job, `reading` gets it from the ledger; the rules are in `fires`,
`endings`, `starts`, `upstreams`, `waiting` (job by job) and `limits` (between jobs).
"""

from lamplighter.stages.verify.checker import GRACE, RULES, verify
from lamplighter.stages.verify.findings import Finding
from lamplighter.stages.verify.lateness import Percentiles
from lamplighter.stages.verify.report import Report, Tally

__all__ = ["GRACE", "RULES", "Finding", "Percentiles", "Report", "Tally", "verify"]
