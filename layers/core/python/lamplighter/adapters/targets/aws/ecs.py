"""Runs a task, and waits for it unless told otherwise."""

from collections.abc import Collection
from typing import Any, Final

from botocore.exceptions import ClientError

from lamplighter.adapters.targets.aws.calls import PATIENCE, as_json, code_of, explained
from lamplighter.adapters.targets.aws.clients import Clients
from lamplighter.domain.ids import fire_of
from lamplighter.domain.run import Claimed
from lamplighter.domain.target import EcsSpec
from lamplighter.domain.target_rules import check_network
from lamplighter.ports.target import Context, Stopped, TargetFailed, TargetResult

POLL_SECONDS: Final = 5.0
# ECS takes 8 KiB of overrides in all.
_LARGEST_PAYLOAD: Final = 4 * 1024


class EcsTarget:
    """For all subnets but ours. Without any, the network is that of the cluster's own machines."""

    def __init__(
        self, clients: Clients, poll_seconds: float = POLL_SECONDS, ours: Collection[str] = ()
    ) -> None:
        self._clients = clients
        self._ours = ours
        self._poll_seconds = poll_seconds

    def run(self, spec: EcsSpec, context: Context) -> TargetResult:
        check_network(spec.subnets, self._ours)
        client = self._clients.get("ecs", spec.region)
        with explained("ecs"):
            task = _start(client, spec, context.run)
            if not spec.wait:
                return TargetResult({"task_arn": task})
            return self._follow(client, spec.cluster, task, context)

    def is_quick(self, _spec: EcsSpec) -> bool:
        return False

    def patience(self, spec: EcsSpec) -> float:
        # Time for the call that stops the task.
        return 5.0 if spec.wait else PATIENCE

    def _follow(self, client: Any, cluster: str, task: str, context: Context) -> TargetResult:
        try:
            while True:
                seen = client.describe_tasks(cluster=cluster, tasks=[task])
                # A task is not always seen in the moment after it was started.
                if seen["tasks"] and seen["tasks"][0]["lastStatus"] == "STOPPED":
                    return _judge(seen["tasks"][0])
                context.sleep(self._poll_seconds)
        except Stopped:
            client.stop_task(cluster=cluster, task=task, reason="stopped by Lamplighter")
            raise


def _start(client: Any, spec: EcsSpec, run: Claimed) -> str:
    """The client token makes a second start under another fence find the first."""
    try:
        answer = client.run_task(**_request(spec, run))
    except ClientError as error:
        if code_of(error) != "ConflictException":
            raise
        return _started_before(client, spec, run)
    if answer.get("failures"):
        failure = answer["failures"][0]
        why = " ".join(str(failure[key]) for key in ("reason", "detail") if failure.get(key))
        raise TargetFailed(f"ecs started no task: {why}")
    return str(answer["tasks"][0]["taskArn"])


def _started_before(client: Any, spec: EcsSpec, run: Claimed) -> str:
    for status in ("RUNNING", "STOPPED"):
        found = client.list_tasks(
            cluster=spec.cluster, startedBy=str(run.run_id), desiredStatus=status
        )["taskArns"]
        if found:
            return str(found[0])
    raise TargetFailed("ecs knows a task of this attempt, but does not show it")


def _request(spec: EcsSpec, run: Claimed) -> dict[str, Any]:
    request: dict[str, Any] = {
        "cluster": spec.cluster,
        "taskDefinition": spec.task_definition,
        "launchType": spec.launch_type,
        "count": 1,
        "startedBy": str(run.run_id),
        "clientToken": f"{run.run_id}-{run.attempt}",
    }
    if spec.subnets:
        request["networkConfiguration"] = {
            "awsvpcConfiguration": {
                "subnets": list(spec.subnets),
                "securityGroups": list(spec.security_groups),
                "assignPublicIp": "ENABLED" if spec.assign_public_ip else "DISABLED",
            }
        }
    if spec.container is not None:
        request["overrides"] = {"containerOverrides": [_overrides(spec, run)]}
    return request


def _overrides(spec: EcsSpec, run: Claimed) -> dict[str, Any]:
    told = {
        "RUN_ID": str(run.run_id),
        "JOB_ID": str(run.job_id),
        "FENCE": str(run.fence),
        "ATTEMPT": str(run.attempt),
        "FIRE_AT": fire_of(run.run_id).isoformat(timespec="milliseconds"),
    }
    payload = as_json(run.payload)
    if run.payload is not None and len(payload) <= _LARGEST_PAYLOAD:
        told["PAYLOAD"] = payload
    variables = [{"name": f"LAMPLIGHTER_{name}", "value": value} for name, value in told.items()]
    if run.traceparent is not None:
        variables.append({"name": "TRACEPARENT", "value": run.traceparent})
    overrides: dict[str, Any] = {"name": spec.container, "environment": variables}
    return overrides | ({"command": list(spec.command)} if spec.command else {})


def _judge(task: dict[str, Any]) -> TargetResult:
    """Success where every container that has an exit code has 0, and one has."""
    containers = task.get("containers", [])
    codes = {each["name"]: each["exitCode"] for each in containers if "exitCode" in each}
    if codes and not any(codes.values()):
        return TargetResult({"task_arn": task["taskArn"], "exit_codes": codes})
    ended = ", ".join(f"{name} with exit code {code}" for name, code in codes.items())
    why = "; ".join(part for part in (ended, task.get("stoppedReason")) if part)
    raise TargetFailed(f"the task ended: {why or task.get('stopCode', 'for no known reason')}")
