"""Trace: the spans of a run, told by whoever has a part in it.

    submit   in the client's trace, linked to
    job      in the job's own trace; to that each of its runs is linked:
    run      in the run's own trace, from due to ended; within it, for every fence,
      publish, claim, attempt, record     and where it waited for others, linked to those,
      free

Nothing is carried from one to the next: domain/traces.py says why not.
"""

import secrets
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

import msgspec

from lamplighter.contracts.messages import DependencyEvent, JobEvent
from lamplighter.domain.errors import LamplighterError
from lamplighter.domain.run import Claimed, Outcome, Settled, Verdict
from lamplighter.domain.states import RunState
from lamplighter.domain.traces import (
    ATTEMPT,
    CLAIM,
    FREE,
    JOB,
    PUBLISH,
    RECORD,
    RUN,
    SpanRef,
    read_traceparent,
    span_of,
    traceparent,
)
from lamplighter.ports.ledger import Ledger
from lamplighter.ports.queue import Ready
from lamplighter.ports.traces import Span, Spans
from lamplighter.stages.aftermath import Folded, Seen
from lamplighter.stages.rollup import ended_at

# Of one request, or of one batch that frees others.
_MOST: Final = 100
_BAD: Final = (RunState.FAILED, RunState.TIMED_OUT)


class Tracer:
    """Of `one_in` so many runs one is traced; all functions agree which, since its id decides."""

    def __init__(self, spans: Spans, one_in: int = 1) -> None:
        self._spans = spans
        self._one_in = one_in

    def wants(self, run_id: UUID) -> bool:
        return run_id.int % self._one_in == 0

    def traceparent(self, run: Claimed) -> str | None:
        return traceparent(run.run_id, run.fence) if self.wants(run.run_id) else None

    def submitted(self, header: str | None, job_ids: Sequence[UUID], began: datetime) -> None:
        """A request made these jobs. Without a trace of the client's, one begins here."""
        now, client = _now(), read_traceparent(header)
        trace_id = client.trace_id if client else secrets.token_hex(16)
        request = SpanRef(trace_id, secrets.token_hex(8))
        jobs = {job_id: span_of(job_id, JOB) for job_id in job_ids[:_MOST]}
        spans = [
            Span(
                name="submit",
                ref=request,
                parent_id=client.span_id if client else None,
                start=began,
                end=now,
                attributes={"jobs": len(job_ids)},
                links=tuple(jobs.values()),
            )
        ]
        for job_id, ref in jobs.items():
            told = {"job_id": str(job_id)}
            spans.append(
                Span(name=JOB, ref=ref, start=began, end=now, attributes=told, links=(request,))
            )
        self._spans.put(spans)

    def published(self, runs: Sequence[Ready], began: datetime) -> None:
        self._put_parts(PUBLISH, runs, began)

    def claimed(self, runs: Sequence[Claimed], began: datetime) -> None:
        self._put_parts(CLAIM, runs, began)

    def ran(self, endings: Iterable[tuple[JobEvent, Outcome]]) -> None:
        """By the worker's clock, as the ledger has it."""
        now = _now()
        self._put(
            _attempt(event, outcome, now)
            for event, outcome in endings
            if self.wants(outcome.run_id)
        )

    def recorded(self, folded: Folded) -> None:
        """From the report to the ledger; and, where that was the end of it, the run as a whole."""
        now = _now()
        for each in folded.seen:
            run_id = each.event.run_id
            if run_id is None or not each.is_first or not self.wants(run_id):
                continue
            if each.settled is not None:
                self._put([_record(run_id, each, now)])
            if each.state is not None and each.state.is_final:
                self._put([_whole(run_id, each.event, each.state)])

    def freed(
        self, ledger: Ledger, upstreams: Sequence[DependencyEvent], freed: Sequence[Settled]
    ) -> None:
        """Linked to those of these upstreams that each run has waited for."""
        now = _now()
        runs = [each.run for each in freed if each.run is not None and self.wants(each.run_id)]
        for run in runs[:_MOST]:
            try:
                after = {edge.job_id for edge in ledger.job(run.tenant, run.job_id).after}
            except LamplighterError:  # gone meanwhile, or the ledger is
                continue
            waited_for = [each.run_id for each in upstreams if str(each.job_id) in after]
            links = tuple(span_of(run_id, RUN) for run_id in waited_for)
            self._put([_part(FREE, run.run_id, run.fence, now, now, links=links)])

    def _put_parts(
        self, name: str, runs: Sequence[Ready] | Sequence[Claimed], began: datetime
    ) -> None:
        now = _now()
        self._put(
            _part(name, run.run_id, run.fence, began, now) for run in runs if self.wants(run.run_id)
        )

    def _put(self, spans: Iterable[Span]) -> None:
        if made := list(spans):
            self._spans.put(made)


def _part(  # noqa: PLR0913 - a span's own fields
    name: str,
    run_id: UUID,
    fence: int,
    start: datetime,
    end: datetime,
    *,
    links: tuple[SpanRef, ...] = (),
) -> Span:
    return Span(
        name=name,
        ref=span_of(run_id, name, fence),
        parent_id=span_of(run_id, RUN).span_id,
        start=min(start, end),  # two clocks may have had a say in it
        end=end,
        attributes={"run_id": str(run_id), "fence": fence},
        links=links,
    )


def _attempt(event: JobEvent, outcome: Outcome, now: datetime) -> Span:
    began = event.started_at or event.at
    part = _part(ATTEMPT, outcome.run_id, outcome.fence, began, outcome.ended_at or now)
    told: dict[str, str | int] = {
        "attempt": event.attempt or 1,
        "job_id": str(event.job_id),
        "worker_id": event.worker_id or "",
        "verdict": outcome.verdict.value,
    }
    failed = outcome.verdict in (Verdict.FAILED, Verdict.TIMED_OUT)
    return msgspec.structs.replace(part, attributes={**part.attributes, **told}, failed=failed)


def _record(run_id: UUID, seen: Seen, now: datetime) -> Span:
    fence = seen.event.fence or 0
    part = _part(RECORD, run_id, fence, seen.event.at, now)
    state = "" if seen.state is None else seen.state.name
    return msgspec.structs.replace(
        part,
        parent_id=span_of(run_id, ATTEMPT, fence).span_id,
        attributes={**part.attributes, "status": state},
    )


def _whole(run_id: UUID, event: JobEvent, state: RunState) -> Span:
    """The run, from when it was due; it came of its job."""
    ended = ended_at(event)
    return Span(
        name=RUN,
        ref=span_of(run_id, RUN),
        start=min(event.due_at or ended, ended),
        end=ended,
        attributes={
            "run_id": str(run_id),
            "job_id": str(event.job_id),
            "tenant": event.tenant,
            "status": state.name,
        },
        links=(span_of(event.job_id, JOB),),
        failed=state in _BAD,
    )


def _now() -> datetime:
    return datetime.now(UTC)
