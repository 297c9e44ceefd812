"""Every CHECK of the schema refuses a row that only it forbids."""

from typing import Any, Final

import psycopg
from psycopg import sql

Conn = psycopg.Connection[tuple[Any, ...]]
Row = dict[str, str]

_NOW, _PAST = "now()", "now() - interval '1 h'"
_ID, _OTHER = "'{}'::uuid".format("0" * 31 + "1"), "'{}'::uuid".format("0" * 31 + "2")
# A run's key is its time: this one is of today, whose partition is there.
_RUN = (
    "(lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint), 12, '0')"
    " || '8000' || '8000000000000001')::uuid"
)
_JOB: Final[Row] = {
    "job_id": _ID, "tenant": "'t'", "name": "'n'", "schedule_type": "'AFTER'", "repeats": "false",
    "has_upstreams": "true",
}  # fmt: skip
_WELL: Final[dict[str, Row]] = {
    "jobs": _JOB,
    "job_versions": {
        "job_id": _ID, "version": "1", "tenant": "'t'", "valid_from": _PAST, "valid_to": _NOW,
        "job": "'{}'",
    },
    "job_runs": {
        "run_id": _RUN, "job_id": _ID, "tenant": "'t'", "pool": "'p'", "priority": "5",
    },
    "job_dependencies": {
        "job_id": _ID, "upstream_id": _OTHER, "tenant": "'t'", "position": "0",
        "rule": "'same_fire'",
    },
    "workers": {"worker_id": "'w'", "pool": "'p'", "capacity": "0"},
    "slots": {"key": "'k'", "n": "1", "run_id": _ID},
    "slot_queue": {"key": "'k'", "fire_at": _NOW, "run_id": _ID, "max_slots": "1"},
    "leases": {"name": "'l'", "holder": "'h'", "epoch": "1", "expires_at": _NOW},
    "ledger_bounds": {
        "ready_from": _NOW, "ready_to": _NOW, "loaded_to": _NOW, "watermark": _NOW,
    },
    "calendars": {"tenant": "'t'", "name": "'n'", "version": "1", "calendar": "'{}'"},
    "api_keys": {
        "key_id": _ID, "tenant": "'t'", "name": "'n'", "role": "'reader'",
        "hash": "sha256('x'::bytea)",
    },
    "stats_minute": {
        "minute": _NOW, "tenant": "'t'", "pool": "'p'", "class": "1", "status": "10", "runs": "1",
        "duration_ms": "0", "lateness_ms": "0", "max_lateness_ms": "0",
    },
}  # fmt: skip

# By the name of the CHECK: what makes a good row one that it alone forbids.
_FORBIDDEN: Final[dict[str, Row]] = {
    "api_keys_hash_check": {"hash": "'short'"},
    "api_keys_role_check": {"role": "'king'"},
    "calendars_version_check": {"version": "0"},
    "job_dependencies_check": {"upstream_id": _ID},
    "job_dependencies_rule_check": {"rule": "'sometimes'"},
    "job_dependencies_within_seconds_check": {"within_seconds": "0"},
    "job_runs_attempt_number_check": {"attempt_number": "0"},
    "job_runs_check": {"status": "10"},
    "job_runs_check1": {"reason": "1"},
    "job_runs_check2": {"status": "4", "executor_id": "'w'"},
    "job_runs_check3": {"status": "10", "end_time": _NOW, "wake_at": _NOW},
    "job_runs_check4": {
        "status": "7", "executor_id": "'w'", "start_time": _NOW, "wake_at": _NOW,
    },
    "job_runs_check5": {"status": "5"},
    "job_runs_check6": {"missed_count": "2"},
    "job_runs_delay_ms_check": {"delay_ms": "-1"},
    "job_runs_fence_check": {"fence": "-1"},
    "job_runs_losses_check": {"losses": "-1"},
    "job_runs_missed_count_check": {"missed_count": "0", "missed_to": _NOW},
    "job_runs_priority_check": {"priority": "11"},
    "job_runs_status_check": {"status": "8"},
    "job_versions_check": {"valid_from": _NOW, "valid_to": _PAST},
    "jobs_check": {"concurrency_key": "'k'"},
    "jobs_check1": {"schedule_time": _NOW},
    "jobs_check2": {"cron_expression": "'* * * * *'"},
    "jobs_max_concurrency_check": {"max_concurrency": "0"},
    "jobs_max_retries_check": {"max_retries": "-1"},
    "jobs_name_check": {"name": "''"},
    "jobs_overlap_check": {"overlap": "'often'"},
    "jobs_priority_check": {"priority": "0"},
    "jobs_schedule_type_check": {"schedule_type": "'NEVER'"},
    "jobs_start_deadline_seconds_check": {"start_deadline_seconds": "0"},
    "jobs_status_check": {"status": "5"},
    "jobs_tenant_check": {"tenant": "''"},
    "jobs_timeout_seconds_check": {"timeout_seconds": "0"},
    "jobs_version_check": {"version": "0"},
    "leases_epoch_check": {"epoch": "0"},
    "ledger_bounds_check": {"ready_from": _NOW, "ready_to": _PAST},
    "ledger_bounds_check1": {"candidate": _NOW},
    "ledger_bounds_check2": {"candidate": _PAST, "barrier": "pg_current_xact_id()"},
    "ledger_bounds_only_row_check": {"only_row": "false"},
    "slot_queue_max_slots_check": {"max_slots": "0"},
    "slots_check": {"run_id": "NULL"},
    "slots_n_check": {"n": "-1"},
    "stats_minute_class_check": {"class": "5"},
    "stats_minute_duration_ms_check": {"duration_ms": "-1"},
    "stats_minute_runs_check": {"runs": "0"},
    "stats_minute_status_check": {"status": "9"},
    "workers_capacity_check": {"capacity": "-1"},
}  # fmt: skip

_CHECKS = """
    SELECT conname FROM pg_constraint AS c JOIN pg_class AS t ON t.oid = c.conrelid
    WHERE contype = 'c' AND NOT t.relispartition AND t.relnamespace = 'public'::regnamespace
"""


def _insert(conn: Conn, table: str, row: Row) -> None:
    """In a transaction that leaves nothing behind, whatever comes of it."""
    names = sql.SQL(", ").join(map(sql.Identifier, row))
    values = sql.SQL(", ").join(sql.SQL(value) for value in row.values())
    insert = sql.SQL("INSERT INTO {} ({}) VALUES ({})")
    with conn.transaction(force_rollback=True):
        conn.execute("DELETE FROM ledger_bounds")
        conn.execute("SET LOCAL session_replication_role = replica")  # no job need be there
        conn.execute(insert.format(sql.Identifier(table), names, values))


def _table(check: str) -> str:
    return max((table for table in _WELL if check.startswith(f"{table}_")), key=len)


def test_every_check_is_tried(conn: Conn) -> None:
    assert {row[0] for row in conn.execute(_CHECKS)} == set(_FORBIDDEN)


def test_a_forbidden_row_is_refused_by_its_check_and_a_good_one_is_not(conn: Conn) -> None:
    for table, row in _WELL.items():
        _insert(conn, table, row)
    found = {
        check: _refused_by(conn, _table(check), change) for check, change in _FORBIDDEN.items()
    }
    assert found == {check: check for check in _FORBIDDEN}


def _refused_by(conn: Conn, table: str, change: Row) -> str | None:
    try:
        _insert(conn, table, _WELL[table] | change)
    except psycopg.errors.CheckViolation as violation:
        return violation.diag.constraint_name
    return None
