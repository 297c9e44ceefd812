"""Query: everything that is read. It changes nothing, and no job passes through it."""

from typing import Any

from lamplighter import wiring
from lamplighter.contracts.http_api import Api
from lamplighter.stages import calendars, logs, preview, query, stats

api = Api(
    "query",
    {
        "GET /jobs": query.get_jobs,
        "GET /jobs/{job_id}": query.get_job,
        "GET /jobs/{job_id}/status": query.get_status,
        "GET /jobs/{job_id}/runs": query.get_runs_of_job,
        "GET /jobs/{job_id}/fires": preview.get_fires,
        "GET /jobs/{job_id}/explain": query.get_explain,
        "GET /runs": query.get_runs,
        "GET /runs/{run_id}": query.get_run,
        "GET /runs/{run_id}/log": logs.get_log,
        "GET /runs/{run_id}/explain": query.get_run_explain,
        "POST /schedules/preview": preview.post_preview,
        "GET /calendars": calendars.get_calendars,
        "GET /calendars/{name}": calendars.get_calendar,
        "GET /stats": stats.get_stats,
        "GET /workers": stats.get_workers,
        "GET /healthz": stats.get_health,
        "GET /readyz": stats.get_ready,
        "GET /metrics": stats.get_metrics,
    },
)


@wiring.invoked
def handler(event: dict[str, Any], context: object) -> dict[str, Any]:  # noqa: ARG001 - Lambda's
    """An API Gateway event in, its answer out."""
    return api.answer(event, wiring.desk, wiring.tenant_claim)
