"""What a job's `target` document may say: one shape per type, refused where it says more or less.

Semantics are checked here, at submission; whether a queue or a handler exists is known only where
the run happens.
"""

from collections.abc import Callable, Iterator
from difflib import get_close_matches
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from lamplighter.domain.errors import InvalidJob
from lamplighter.domain.target_rules import check_aws, check_command, check_http, check_python

HIDDEN: Final = "…"
NO_COMMANDS: Final = (
    "commands are off, since they can do what their worker can: give another type, or ask whoever"
    " deploys for LAMPLIGHTER_COMMANDS (on AWS -c commands=true, for the pool tasks)"
)
# Headers whose value is a credential, whatever the receiver calls itself.
SECRET_HEADERS: Final = frozenset(
    {"authorization", "proxy-authorization", "cookie", "x-api-key", "api-key", "x-auth-token"}
)
# The fields that may hold values which are not shown: those of these names.
_MAY_HIDE: Final[dict[str, Callable[[str], bool]]] = {
    "env": lambda _: True,
    "headers": lambda name: name.lower() in SECRET_HEADERS,
}


class Secret(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`{"secret": "name"}`: the value is fetched when the run starts, and kept nowhere."""

    secret: Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$")]


Text = str | Secret
Texts = dict[str, Text]


class _Spec(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What all types have in common. `region`, where there is one, is the worker's unless named."""


class PythonSpec(_Spec, frozen=True, tag_field="type", tag="python"):
    """A handler that the deployment has registered."""

    handler: str


class CommandSpec(_Spec, frozen=True, tag_field="type", tag="command"):
    """A line for `/bin/sh -c`. Without `cwd` it runs in an empty folder of its own."""

    command: str
    env: Texts = {}
    cwd: str | None = None
    # Between being asked to end and being made to.
    grace_seconds: Annotated[float, Meta(ge=0, le=60)] = 2.0


class HttpSpec(_Spec, frozen=True, tag_field="type", tag="http"):
    """A webhook. Without a body of its own it carries the job's payload."""

    url: str
    method: Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] = "POST"
    headers: Texts = {}
    body: Any = msgspec.UNSET
    signing_secret: Secret | None = None  # else the deployment's, if it has one


class LambdaSpec(_Spec, frozen=True, tag_field="type", tag="lambda"):
    function: str
    qualifier: str | None = None
    wait: bool = True  # False: Lambda queues the event, and the run ends when it has
    region: str | None = None


class SqsSpec(_Spec, frozen=True, tag_field="type", tag="sqs"):
    queue_url: str
    message_group_id: str | None = None  # FIFO queues; the job's id unless named
    attributes: Annotated[dict[str, str], Meta(max_length=6)] = {}
    region: str | None = None


class SnsSpec(_Spec, frozen=True, tag_field="type", tag="sns"):
    topic_arn: str
    subject: Annotated[str, Meta(min_length=1, max_length=99)] | None = None
    message_group_id: str | None = None
    attributes: Annotated[dict[str, str], Meta(max_length=6)] = {}
    region: str | None = None


class EventBridgeSpec(_Spec, frozen=True, tag_field="type", tag="eventbridge"):
    source: str
    detail_type: str
    bus: str = "default"
    region: str | None = None


class StepFunctionsSpec(_Spec, frozen=True, tag_field="type", tag="stepfunctions"):
    state_machine_arn: str
    wait: bool = False  # True: the run ends as the execution does
    region: str | None = None


class EcsSpec(_Spec, frozen=True, tag_field="type", tag="ecs"):
    """`container` is whose environment learns of the run, and whose command is replaced."""

    cluster: str
    task_definition: str
    launch_type: Literal["FARGATE", "EC2", "EXTERNAL"] = "FARGATE"
    subnets: tuple[str, ...] = ()
    security_groups: tuple[str, ...] = ()
    assign_public_ip: bool = False
    container: str | None = None
    command: tuple[str, ...] = ()
    wait: bool = True
    region: str | None = None


TargetSpec = (
    PythonSpec
    | CommandSpec
    | HttpSpec
    | LambdaSpec
    | SqsSpec
    | SnsSpec
    | EventBridgeSpec
    | StepFunctionsSpec
    | EcsSpec
)

SPECS: Final[dict[str, type[TargetSpec]]] = {
    "python": PythonSpec,
    "command": CommandSpec,
    "http": HttpSpec,
    "lambda": LambdaSpec,
    "sqs": SqsSpec,
    "sns": SnsSpec,
    "eventbridge": EventBridgeSpec,
    "stepfunctions": StepFunctionsSpec,
    "ecs": EcsSpec,
}


def parse_target(document: object) -> TargetSpec:
    """The target that a document means. Raises InvalidJob, with the field and the fix."""
    if not isinstance(document, dict):
        raise InvalidJob("target", 'give an object like {"type": "python", "handler": "…"}')
    kind = _spec_type(document.get("type"))
    try:
        spec = msgspec.convert(document, kind)
    except msgspec.ValidationError as invalid:
        raise _refusal(str(invalid), kind) from None
    _check(spec)
    return spec


def parse_but_commands(document: object) -> TargetSpec:
    """The same, where nobody may submit a command."""
    spec = parse_target(document)
    if isinstance(spec, CommandSpec):
        raise InvalidJob("target.type", NO_COMMANDS)
    return spec


def _spec_type(name: object) -> type[TargetSpec]:
    if isinstance(name, str) and name in SPECS:
        return SPECS[name]
    near = get_close_matches(name, SPECS, n=1) if isinstance(name, str) else []
    hint = f"did you mean {near[0]!r}? There are" if near else "give one of"
    raise InvalidJob("target.type", f"{hint} {', '.join(SPECS)}")


def _refusal(problem: str, kind: type[TargetSpec]) -> InvalidJob:
    """From `Object contains unknown field `urll`` or `Expected `str`, got `int` - at `$.url``."""
    rule, _, place = problem.partition(" - at `$")
    field = "target" + place.rstrip("`")
    fields = ", ".join(kind.__struct_fields__)
    if not place and ("unknown field" in rule or "missing required" in rule):
        return InvalidJob(field, f"{rule[0].lower()}{rule[1:]}; its fields are type, {fields}")
    return InvalidJob(field, f"{rule[0].lower()}{rule[1:]}")


def _check(spec: TargetSpec) -> None:
    match spec:
        case PythonSpec():
            check_python(spec.handler)
        case CommandSpec():
            check_command(spec.command, spec.env, spec.cwd)
        case HttpSpec():
            check_http(spec.url, spec.headers)
        case _:
            check_aws(spec)


def redacted(document: dict[str, Any]) -> dict[str, Any]:
    """A target as it may be shown and logged: no value of env, no header that is a credential."""
    return {field: _redacted(field, value) for field, value in document.items()}


def _redacted(field: str, value: object) -> object:
    if field not in _MAY_HIDE or not isinstance(value, dict):
        return value
    hides = _MAY_HIDE[field]
    return {name: _unless_reference(each) if hides(name) else each for name, each in value.items()}


def revealed(document: dict[str, Any], stored: dict[str, Any] | None) -> dict[str, Any]:
    """A target that was shown and is sent back: where it has the mark, the stored value stays.

    Only if all of it is as it was shown. A URL, a line, a `PATH` among the variables leads a value
    to whoever chose that, and who may edit a job shall not learn its secrets.
    """
    marked = list(_marked(document))
    if not marked:
        return document
    if stored is None or document != redacted(stored):
        raise InvalidJob(
            f"target.{marked[0]}",
            f"{HIDDEN} stands for a value that is not shown; give that. It is kept only where the"
            " whole target is sent back as it was shown",
        )
    return stored


def _marked(document: dict[str, Any]) -> Iterator[str]:
    for field, hides in _MAY_HIDE.items():
        values = document.get(field)
        if isinstance(values, dict):
            marked = sorted(name for name in values if hides(name) and values[name] == HIDDEN)
            yield from (f"{field}.{name}" for name in marked)


def _unless_reference(value: object) -> object:
    """A reference names a secret and is none."""
    return value if isinstance(value, dict) else HIDDEN
