"""Races: calls that meet in one database, at every statement where they can."""

import random
from collections.abc import Callable
from typing import Any
from uuid import UUID

import msgspec
import psycopg

from lamplighter.adapters.postgres.ledger import PostgresLedger
from lamplighter.domain.ids import new_job_id
from lamplighter.domain.run import ClaimAnswer, Outcome, Settled, Ticket, Verdict
from lamplighter.domain.states import RunState
from tests.adapters.postgres.invariants import Invariants
from tests.adapters.postgres.making import fresh, utc_now
from tests.adapters.postgres.patience import PATIENT, SLOWLY
from tests.adapters.postgres.stepping import ALL, Call, Players

Turns = list[tuple[int, int]]
_S = RunState


class Scene(msgspec.Struct):
    """Calls that race, and what must be true of their answers, in the order of the calls."""

    calls: list[Call]
    check: Callable[..., None]


class World:
    """One database that many races share; each brings a tenant of its own."""

    def __init__(self, url: str) -> None:
        self.ledger = PostgresLedger(url, bounds=PATIENT, habits=SLOWLY)
        self.conn = psycopg.connect(url, autocommit=True)
        self.players = Players(url)
        self.invariants = Invariants(self.conn)
        self.is_whole = True

    def close(self) -> None:
        self.players.close()
        self.ledger.close()
        self.conn.close()

    def race(
        self, set_up: Callable[["World"], Scene], *, mirrored: bool = False, samples: int = 0
    ) -> None:
        """The second call whole at each stop of the first; then the other way round.

        `mirrored` calls are alike, so one way is enough. `samples` adds races in which both stop
        half-way, drawn at random, but the same each time.
        """
        first = self.trial(set_up, [(0, ALL), (1, ALL)])[0]
        second = self.trial(set_up, [(1, ALL), (0, ALL)])[1]
        for stop in range(first):
            self.trial(set_up, [(0, stop), (1, ALL)])
        for stop in range(0 if mirrored else second):
            self.trial(set_up, [(1, stop), (0, ALL)])
        draw = random.Random(0)  # noqa: S311 - chooses interleavings, guards nothing
        for _ in range(samples):
            turns = [(0, draw.randrange(first)), (1, draw.randrange(1, second + 1))]
            self.trial(set_up, [*turns, (0, draw.randrange(1, first + 1)), (1, ALL)])
        self.drain()

    def trial(self, set_up: Callable[["World"], Scene], turns: Turns) -> list[int]:
        """One race; answers with how many statements each call made."""
        scene = set_up(self)
        answers = self.players.play(scene.calls, turns)
        made = [self.players.statements(who) for who in range(len(scene.calls))]
        try:
            scene.check(*answers)
            self.invariants.check()
        except BaseException as error:
            self.is_whole = False
            error.add_note(f"turns (who, statements): {turns}; answers: {answers}")
            raise
        return made

    def state(self, run_id: UUID) -> RunState | None:
        """None: the run is gone."""
        rows = self.conn.execute("SELECT status FROM job_runs WHERE run_id = %s", [run_id])
        found = rows.fetchone()
        return None if found is None else _S(found[0])

    def age(self, worker: str) -> None:
        """Make a worker one that has not been heard of for an hour."""
        for table, column in (("workers", "heartbeat_at"), ("claims", "claimed_at")):
            query = f"UPDATE {table} SET {column} = {column} - interval '1 h' WHERE worker_id = %s"
            self.conn.execute(query.encode(), [worker])

    def drain(self) -> None:
        """Run everything that is due to its end: a run for which that never comes was lost."""
        for _ in range(20):
            if not self._drain_some():
                self.invariants.check()
                return
        raise AssertionError(f"still open after 20 rounds: {self._open_runs()}")

    def _drain_some(self) -> bool:
        runs = self._open_runs()
        waiting = [Ticket(run, fence) for run, state, fence in runs if state in (1, 5)]
        if waiting:
            self.ledger.claim(fresh("drain"), new_job_id(utc_now()), waiting)
        ends = {_S.RUNNING: Verdict.SUCCESS, _S.CANCELLING: Verdict.CANCELLED}
        self.ledger.finish(
            [
                Outcome(run_id=run, fence=fence, verdict=ends[_S(state)])
                for run, state, fence in runs
                if state in ends
            ]
        )
        assert runs != self._open_runs() or not runs, f"nobody can end these: {runs}"
        return bool(runs)

    def _open_runs(self) -> list[tuple[Any, ...]]:
        """Due and not ended. Blocked and held ones wait for somebody else, not for us."""
        query = """
            SELECT run_id, status, fence FROM job_runs
            WHERE status NOT IN (2, 6) AND status < 10 AND fire_of(run_id) < now() ORDER BY run_id
        """
        return self.conn.execute(query).fetchall()


def claiming(worker: str, *tickets: Ticket) -> Call:
    def call(ledger: PostgresLedger) -> ClaimAnswer:
        return ledger.claim(worker, new_job_id(utc_now()), tickets)

    return call


def claimed_by(answer: ClaimAnswer) -> set[UUID]:
    return {claimed.run_id for claimed in answer.claimed}


def finishing(*outcomes: Outcome) -> Call:
    def call(ledger: PostgresLedger) -> list[Settled]:
        return ledger.finish(outcomes)

    return call


def cancelling(tenant: str, *tickets: Ticket) -> Call:
    def call(ledger: PostgresLedger) -> list[Settled]:
        return ledger.cancel_runs(tenant, [ticket.run_id for ticket in tickets])

    return call
