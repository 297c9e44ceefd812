"""The checker bites: at the end of a test, a run that is stuck in the stack is found."""

from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from tests.e2e.stack import Stack

pytestmark = pytest.mark.usefixtures("checked")

HOURLY = {"schedule_type": "CRON", "cron_expression": "0 * * * *"}
STUCK = """UPDATE job_runs SET status = 1, end_time = NULL, modified_time = now() - interval '1 min'
WHERE run_id = %s"""
MENDED = "UPDATE job_runs SET status = 10, end_time = %s, modified_time = %s WHERE run_id = %s"


def test_a_run_that_nobody_has_claimed_for_a_minute_is_found(stack: Stack) -> None:
    job = stack.submit(**HOURLY, overlap="allow")
    hours_ago = datetime.now(UTC) - timedelta(hours=3)
    body = {"start": hours_ago.isoformat(), "end": (hours_ago + timedelta(hours=1)).isoformat()}
    assert stack.ask("POST", f"/jobs/{job}/backfill", body).status == 202
    [run] = stack.in_state(job, "SUCCESS")

    with psycopg.connect(stack.database_url, autocommit=True) as conn:
        conn.execute(STUCK, [run["run_id"]])
        try:
            with pytest.raises(AssertionError, match="nobody has claimed it since"):
                stack.verify()
        finally:
            conn.execute(MENDED, [run["end_time"], run["end_time"], run["run_id"]])

    stack.verify()
    stack.cancel(job)
