"""Submit: everything that writes a job. First on a job's way; the watcher comes next."""

from typing import Any

from lamplighter import wiring
from lamplighter.contracts.http_api import Api
from lamplighter.stages import calendars, change, decide, submit

api = Api(
    "submit",
    {
        "POST /jobs": submit.post_job,
        "POST /jobs/batch": submit.post_batch,
        "POST /workflows": submit.post_workflow,
        "PUT /jobs/{job_id}": change.put_job,
        "DELETE /jobs/{job_id}": change.delete_job,
        "POST /jobs/{job_id}/runNow": change.post_run_now,
        "POST /jobs/{job_id}/pause": change.post_pause,
        "POST /jobs/{job_id}/resume": change.post_resume,
        "POST /jobs/{job_id}/backfill": change.post_backfill,
        "POST /runs/{run_id}/cancel": decide.post_cancel_run,
        "POST /runs/{run_id}/decide": decide.post_decide,
        "PUT /calendars/{name}": calendars.put_calendar,
    },
    writes=True,
)


@wiring.invoked
def handler(event: dict[str, Any], context: object) -> dict[str, Any]:  # noqa: ARG001 - Lambda's
    """An API Gateway event in, its answer out."""
    return api.answer(event, wiring.desk, wiring.tenant_claim)
