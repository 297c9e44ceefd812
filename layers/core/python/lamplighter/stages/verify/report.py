"""What the checker says in the end: each rule with how much it looked at and what it found."""

from datetime import datetime

import msgspec

from lamplighter.stages.verify.findings import Finding, Said, Verdicts
from lamplighter.stages.verify.lateness import Percentiles

# Of each rule, so that one that fails everywhere leaves room for the others.
KEPT_FINDINGS = 100


class Tally(msgspec.Struct):
    rule: str
    checked: int = 0
    found: int = 0


class Report(msgspec.Struct, kw_only=True):
    """`findings` are the first of each rule; the tallies count all of them."""

    since: datetime
    until: datetime
    now: datetime
    jobs: int
    runs: int
    rules: list[Tally]
    findings: list[Finding]
    lateness: Percentiles
    excused: Percentiles

    @property
    def found(self) -> int:
        return sum(tally.found for tally in self.rules)


class Book:
    """Where verdicts are entered."""

    def __init__(self, rules: list[str]) -> None:
        self.tallies = {rule: Tally(rule) for rule in rules}
        self.findings: dict[str, list[Finding]] = {rule: [] for rule in rules}

    def enter(self, rule: str, verdicts: Verdicts) -> None:
        tally = self.tallies[rule]
        for said in verdicts:
            tally.checked += 1
            if said is not None:
                tally.found += 1
                self._keep(rule, said)

    def _keep(self, rule: str, said: Said) -> None:
        kept = self.findings[rule]
        if len(kept) < KEPT_FINDINGS:
            kept.append(Finding(rule, said.job_id, said.run_id, said.text))
