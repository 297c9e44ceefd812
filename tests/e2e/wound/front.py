"""What people do and see: every request goes through the functions' own routes."""

import json
from datetime import datetime
from typing import Any
from uuid import UUID

from functions.query.handler import api as query_api
from functions.submit.handler import api as submit_api
from lamplighter.adapters.postgres.listing import PostgresQueryLedger
from lamplighter.domain.run import Run
from lamplighter.stages.desk import Desk


class Front:
    """`begin` makes a moment the one that a test's minutes are counted from."""

    def __init__(self, ledger: PostgresQueryLedger, desk: Desk) -> None:
        self.ledger, self.desk = ledger, desk
        self._submitted: list[str] = []
        self.begin()

    def begin(self) -> None:
        self._began = self.desk.now()

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        event = {
            "rawPath": path.partition("?")[0],
            "requestContext": {"http": {"method": method, "path": path}},
            "headers": {"content-type": "application/json"},
            "queryStringParameters": dict(
                pair.split("=") for pair in path.partition("?")[2].split("&") if pair
            ),
            "body": None if body is None else json.dumps(body),
        }
        api = query_api if method == "GET" or "preview" in path else submit_api
        answer = api.answer(event, lambda: self.desk)
        assert answer["statusCode"] < 300, answer
        return json.loads(answer["body"] or "null")

    def submit(self, **body: Any) -> str:
        target = {"type": "python", "handler": "builtin.noop"}
        answer = self.ask("POST", "/jobs", {"name": "a job", "target": target, **body})
        self._submitted.append(str(answer["job_id"]))
        return self._submitted[-1]

    def runs(self, job_id: str) -> list[Run]:
        """Oldest fire first."""
        found: list[Run] = self.ledger.runs("default", UUID(job_id), 100_000)
        return sorted(found, key=lambda run: run.run_id)

    def told(self, job_id: str) -> list[str]:
        """What became of each fire, in minutes since the test began."""
        return [self._line(run) for run in self.runs(job_id)]

    def _line(self, run: Run) -> str:
        ending = f"{run.state.name} {run.reason.name.lower()}" if run.reason else run.state.name
        if run.missed_to is None:
            return f"+{self._minute(run.fire_at)} {ending}"
        missed = f"+{self._minute(run.fire_at)} to +{self._minute(run.missed_to)}"
        return f"{missed}: {run.missed_count} {ending}"

    def _minute(self, moment: datetime) -> int:
        return round((moment - self._began).total_seconds() / 60)

    def cancel_all(self) -> None:
        """Nothing of this test fires in the next one."""
        for job_id in self._submitted:
            self.ask("DELETE", f"/jobs/{job_id}")
        self._submitted.clear()

    def preview(self, after: datetime, until: datetime, **schedule: Any) -> list[datetime]:
        asked = {"after": after.isoformat(), "until": until.isoformat(), "count": 1000}
        answer = self.ask("POST", "/schedules/preview", {**schedule, **asked})
        return [datetime.fromisoformat(fire) for fire in answer["fires"]]
