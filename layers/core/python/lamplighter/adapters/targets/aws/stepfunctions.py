"""Starts an execution named after the run, so that a second start finds the first."""

from datetime import datetime
from typing import Any, Final

import msgspec
from botocore.exceptions import ClientError

from lamplighter.adapters.targets.aws.calls import PATIENCE, code_of, explained, introduced
from lamplighter.adapters.targets.aws.clients import Clients
from lamplighter.domain.target import StepFunctionsSpec
from lamplighter.ports.target import Context, Stopped, TargetFailed, TargetResult

POLL_SECONDS: Final = 2.0


class StepFunctionsTarget:
    def __init__(self, clients: Clients, poll_seconds: float = POLL_SECONDS) -> None:
        self._clients = clients
        self._poll_seconds = poll_seconds

    def run(self, spec: StepFunctionsSpec, context: Context) -> TargetResult:
        client = self._clients.get("stepfunctions", spec.region)
        with explained("stepfunctions"):
            execution = _start(client, spec, context)
            if not spec.wait:
                return TargetResult({"execution_arn": execution})
            return self._follow(client, execution, context)

    def is_quick(self, _spec: StepFunctionsSpec) -> bool:
        return False

    def patience(self, spec: StepFunctionsSpec) -> float:
        # Time for the call that stops the execution.
        return 5.0 if spec.wait else PATIENCE

    def _follow(self, client: Any, execution: str, context: Context) -> TargetResult:
        try:
            while True:
                seen = client.describe_execution(executionArn=execution)
                if seen["status"] not in ("RUNNING", "PENDING_REDRIVE"):
                    return _judge(seen)
                context.sleep(self._poll_seconds)
        except Stopped:
            client.stop_execution(executionArn=execution, cause="stopped by Lamplighter")
            raise


def _start(client: Any, spec: StepFunctionsSpec, context: Context) -> str:
    """One execution per run; where the run ends as the execution does, one per attempt.

    A worker that was lost costs no attempt, so its successor finds what it had started.
    """
    run = context.run
    name = f"{run.run_id}-{run.attempt}" if spec.wait else str(run.run_id)
    try:
        begun = client.start_execution(
            stateMachineArn=spec.state_machine_arn, name=name, input=introduced(run)
        )
    except ClientError as error:
        if code_of(error) != "ExecutionAlreadyExists":
            raise
        return _execution_arn(spec.state_machine_arn, name)
    return str(begun["executionArn"])


def _execution_arn(machine: str, name: str) -> str:
    """Of `…:stateMachine:orders`, with or without an alias: `…:execution:orders:<name>`."""
    parts = machine.split(":")
    parts[5] = "execution"
    return ":".join([*parts[:7], name])


def _judge(seen: dict[str, Any]) -> TargetResult:
    if seen["status"] != "SUCCEEDED":
        said = " ".join(str(seen[key]) for key in ("error", "cause") if seen.get(key))
        raise TargetFailed(f"the execution ended {seen['status']}: {said}".rstrip(": "))
    try:
        output = msgspec.json.decode(seen.get("output") or "null")
    except (msgspec.DecodeError, RecursionError):
        output = seen["output"]
    ended = seen.get("stopDate")
    at = ended.isoformat() if isinstance(ended, datetime) else None
    return TargetResult({"execution_arn": seen["executionArn"], "output": output, "stopped_at": at})
