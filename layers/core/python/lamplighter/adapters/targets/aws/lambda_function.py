"""Invokes a function with the payload as its event."""

import base64
from typing import Any, Final

import msgspec

from lamplighter.adapters.targets.aws.calls import PATIENCE, about, as_json, explained, introduced
from lamplighter.adapters.targets.aws.clients import Clients
from lamplighter.domain.target import LambdaSpec
from lamplighter.ports.target import Context, TargetFailed, TargetResult

_MOST_SHOWN: Final = 500


class LambdaTarget:
    def __init__(self, clients: Clients) -> None:
        self._clients = clients

    def run(self, spec: LambdaSpec, context: Context) -> TargetResult:
        # Sent once: whether a lost answer means a second invocation is the job's to decide.
        client = self._clients.get(
            "lambda", spec.region, read_seconds=context.timeout_seconds, repeat=False
        )
        where = {"FunctionName": spec.function}
        if spec.qualifier is not None:
            where["Qualifier"] = spec.qualifier
        with explained("lambda"):
            if not spec.wait:
                event = introduced(context.run).encode()
                client.invoke(**where, InvocationType="Event", Payload=event)
                return TargetResult({"queued": True})
            return _answer(client.invoke(**where, **_request(context)), context)

    def is_quick(self, _spec: LambdaSpec) -> bool:
        return False

    def patience(self, _spec: LambdaSpec) -> float:
        return PATIENCE


def _request(context: Context) -> dict[str, Any]:
    """The payload stays as it is: the run introduces itself in the client context."""
    told = as_json({"custom": about(context.run)}).encode()
    return {
        "Payload": as_json(context.run.payload).encode(),
        "ClientContext": base64.b64encode(told).decode(),
        "LogType": "Tail",
    }


def _answer(response: dict[str, Any], context: Context) -> TargetResult:
    if tail := response.get("LogResult"):
        context.stdout.write(base64.b64decode(tail))
    with response["Payload"] as stream:
        body = stream.read()
    try:
        answer = msgspec.json.decode(body) if body else None
    except (msgspec.DecodeError, RecursionError):
        answer = body.decode(errors="replace")
    if problem := response.get("FunctionError"):
        raise TargetFailed(f"the function failed ({problem}): {_words(answer)}")
    return TargetResult(answer)


def _words(answer: Any) -> str:
    """Lambda's own error document, where it is one."""
    if isinstance(answer, dict) and "errorMessage" in answer:
        kind = answer.get("errorType")
        return f"{kind}: {answer['errorMessage']}" if kind else str(answer["errorMessage"])
    return str(answer)[:_MOST_SHOWN]
