"""What must hold in the ledger after any race, whoever went first."""

from typing import Any
from uuid import UUID

from psycopg import Connection

from lamplighter.domain.states import RunState, may_become

_S = RunState
Conn = Connection[tuple[Any, ...]]

# Two steps of the table in one write: started and asked to stop at once, or stopped unasked.
_TWO_STEPS = {(_S.SCHEDULED, _S.CANCELLING), (_S.RUNNING, _S.CANCELLED)}

_KEEP_LOG = """
CREATE TABLE run_log (
    seq bigint GENERATED ALWAYS AS IDENTITY, run_id uuid, old_state smallint, new_state smallint,
    old_fence integer, new_fence integer
);
CREATE FUNCTION log_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        INSERT INTO run_log (run_id, old_state, new_state, old_fence, new_fence)
        VALUES (OLD.run_id, OLD.status, NEW.status, OLD.fence, NEW.fence);
    ELSE
        INSERT INTO run_log (run_id, old_state, old_fence)
        VALUES (OLD.run_id, OLD.status, OLD.fence);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER log_run AFTER UPDATE OR DELETE ON job_runs FOR EACH ROW EXECUTE FUNCTION log_run();
"""

# Each finds what must not be; the text says what it would mean.
_NEVER = {
    "a slot is held by a run that has ended or is gone": """
        SELECT s.key, s.run_id FROM slots AS s LEFT JOIN job_runs AS r USING (run_id)
        WHERE s.n > 0 AND (r.run_id IS NULL OR r.status >= 10)""",
    "a run that has ended or is gone stands in line": """
        SELECT q.key, q.run_id FROM slot_queue AS q LEFT JOIN job_runs AS r USING (run_id)
        WHERE r.run_id IS NULL OR r.status >= 10""",
    "more slots are held than the limit allows": """
        SELECT s.key, s.n FROM slots AS s JOIN job_runs AS r USING (run_id)
        JOIN jobs AS j USING (job_id)
        WHERE s.n > CASE WHEN s.key LIKE 'limit:%' THEN j.max_concurrency ELSE 1 END""",
    "a run holds two slots of one key, or holds one and waits for it": """
        SELECT key, run_id FROM (SELECT key, run_id FROM slots WHERE n > 0
                                 UNION ALL SELECT key, run_id FROM slot_queue) AS places
        GROUP BY key, run_id HAVING count(*) > 1""",
    "a running run of a keyed job lacks a slot": """
        SELECT r.run_id FROM job_runs AS r JOIN jobs AS j USING (job_id)
        WHERE r.status IN (4, 7) AND j.keyed AND (SELECT count(*) FROM slots AS s
            WHERE s.run_id = r.run_id) < (j.overlap IN ('forbid', 'replace'))::int
            + (j.ordering_key IS NOT NULL OR j.overlap = 'queue')::int
            + (j.max_concurrency IS NOT NULL)::int""",
    "a parked run stands in no line": """
        SELECT r.run_id FROM job_runs AS r WHERE r.status = 3
        AND NOT EXISTS (SELECT FROM slot_queue AS q WHERE q.run_id = r.run_id)""",
    "a parked run waits for a slot that is free": """
        SELECT q.key, q.run_id FROM (
            SELECT DISTINCT ON (key) key, run_id, max_slots FROM slot_queue
            ORDER BY key, fire_at, seq) AS q JOIN job_runs AS r USING (run_id)
        WHERE r.status = 3 AND q.max_slots > (
            SELECT count(*) FROM slots AS s
            WHERE s.key = q.key AND s.n BETWEEN 1 AND q.max_slots)""",
    "a running run is in no claim of its worker": """
        SELECT r.run_id FROM job_runs AS r WHERE r.status IN (4, 7) AND NOT EXISTS (
            SELECT FROM claims AS c
            WHERE c.worker_id = r.executor_id AND r.run_id = ANY(c.run_ids))""",
    "a claim's worker is unknown, so that its silence is never noticed": """
        SELECT c.claim_id FROM claims AS c JOIN job_runs AS r ON r.run_id = ANY(c.run_ids)
        WHERE r.status IN (4, 7) AND r.executor_id = c.worker_id
        AND NOT EXISTS (SELECT FROM workers AS w WHERE w.worker_id = c.worker_id)""",
    "a waiting run is behind the watermark and has no wake-up call": """
        SELECT run_id FROM job_runs, ledger_bounds
        WHERE status = 1 AND wake_at IS NULL AND fire_of(run_id) < watermark""",
    "a run of a cancelled job runs on": """
        SELECT r.run_id FROM job_runs AS r JOIN jobs AS j USING (job_id)
        WHERE j.status = 3 AND r.status = 4""",
    "a run has no job": """
        SELECT r.run_id FROM job_runs AS r LEFT JOIN jobs AS j USING (job_id)
        WHERE j.job_id IS NULL""",
    "a cancelled job has a schedule": """
        SELECT job_id FROM schedules JOIN jobs AS j USING (job_id) WHERE j.status = 3""",
    "a stop is asked for a run that is not being cancelled, or none for one that is": """
        SELECT run_id FROM cancellations FULL JOIN (SELECT run_id, status FROM job_runs
            WHERE status = 7) AS r USING (run_id) WHERE status IS NULL OR worker_id IS NULL""",
    "a fire has two runs": """
        SELECT job_id FROM job_runs GROUP BY job_id, fire_of(run_id), pool, origin
        HAVING count(*) > 1""",
    "a schedule names another version than its job": """
        SELECT job_id FROM schedules AS s JOIN jobs AS j USING (job_id)
        WHERE s.version <> j.version""",
}


class Invariants:
    """Looks at one database again and again; of the runs' ways only at what is new."""

    def __init__(self, conn: Conn) -> None:
        self._conn = conn
        self._seen = 0
        conn.execute(_KEEP_LOG)
        # The same questions hundreds of times: planning them anew was most of their cost.
        conn.execute("SET plan_cache_mode = force_generic_plan")

    def check(self) -> None:
        for meaning, query in _NEVER.items():
            found = self._conn.execute(query.encode(), prepare=True).fetchall()
            assert not found, f"{meaning}: {found}"
        self._check_ways()

    def _check_ways(self) -> None:
        query = """
            SELECT seq, run_id, old_state, new_state, old_fence, new_fence FROM run_log
            WHERE seq > %s ORDER BY seq
        """
        for seq, run_id, old, new, *fences in self._conn.execute(query, [self._seen], prepare=True):
            self._seen = seq
            if new is None:
                assert old in (_S.SCHEDULED, _S.BLOCKED), f"{run_id} was deleted as {_S(old).name}"
            else:
                _check_step(run_id, _S(old), _S(new), *fences)

    def starts(self, tenant: str) -> list[UUID]:
        """Runs of a tenant in the order in which they were started."""
        query = """
            SELECT run_id FROM run_log AS l JOIN job_runs AS r USING (run_id)
            WHERE r.tenant = %s AND new_state = 4 AND old_state <> 4 ORDER BY seq
        """
        return [row[0] for row in self._conn.execute(query, [tenant]).fetchall()]


def _check_step(run_id: UUID, old: RunState, new: RunState, old_fence: int, fence: int) -> None:
    """Legal edges only; each claim raises the fence by one, and nothing lowers it."""
    legal = old == new or may_become(old, new) or (old, new) in _TWO_STEPS
    assert legal, f"{run_id} went from {old.name} to {new.name}"
    assert fence >= old_fence, f"{run_id}: the fence fell"
    if new is _S.RUNNING and old is not new:
        assert fence == old_fence + 1, f"{run_id} was claimed under a fence that was used before"
