"""From bytes to bodies: strict, and with errors that name the field and the fix."""

import re
from collections.abc import Iterable
from datetime import datetime
from difflib import get_close_matches
from enum import Enum
from typing import Any, Final, TypeVar, get_args

import msgspec

from lamplighter.contracts.http_checks import DEEPEST, check_instant, has_control
from lamplighter.contracts.http_errors import InvalidParameter, MalformedRequest
from lamplighter.contracts.http_words import lowered, worded
from lamplighter.contracts.jobs import (
    BackfillBody,
    BatchBody,
    CalendarBody,
    DecisionBody,
    EmptyBody,
    JobBody,
    NewJobBody,
    PreviewBody,
    RunNowBody,
    WorkflowBody,
)
from lamplighter.domain.errors import InvalidJob

T = TypeVar("T", bound=msgspec.Struct)

_BODIES: Final = (
    BackfillBody, BatchBody, CalendarBody, DecisionBody, EmptyBody, JobBody, NewJobBody,
    PreviewBody, RunNowBody, WorkflowBody,
)  # fmt: skip
_DECODERS: Final = {each: msgspec.json.Decoder(each) for each in _BODIES}
_PLACE: Final = re.compile(r"^(?P<rule>.*?)(?: - at `(?:key in )?\$\.?(?P<path>.*)`)?$", re.DOTALL)
_UNKNOWN: Final = re.compile(r"unknown field `(?P<name>.*)`$", re.DOTALL)
_MISSING: Final = re.compile(r"missing required field `(?P<name>.*)`$", re.DOTALL)
_INDEX: Final = re.compile(r"\[[^]]*\]")
_SHOWN_CHARACTERS: Final = 100


class InvalidBody(InvalidJob):
    """A field has the wrong type, or there is no such field. `hint` says what is allowed."""

    def __init__(self, field: str, fix: str, hint: str | None = None) -> None:
        super().__init__(field, fix)
        self.hint = hint


def decode(data: bytes, kind: type[T]) -> T:
    """The body of a request: MalformedRequest if it is no JSON, InvalidBody if it is wrong."""
    try:
        return _DECODERS[kind].decode(data)  # type: ignore[index,return-value]
    except msgspec.ValidationError as error:
        raise explained(str(error), kind) from None
    except UnicodeDecodeError:
        raise MalformedRequest("The body is not UTF-8. Send JSON in UTF-8.") from None
    except msgspec.DecodeError as error:
        why = lowered(str(error).removeprefix("JSON is malformed: "))
        raise MalformedRequest(f"The body is not JSON: {why}.") from None
    except RecursionError:
        most = f"give {DEEPEST} levels at most"
        raise MalformedRequest(f"The body is nested too deeply; {most}.") from None


def decode_batch(data: bytes) -> BatchBody:
    """`{"jobs": [...]}`, or just the list."""
    return decode(b'{"jobs":%b}' % data if data.lstrip()[:1] == b"[" else data, BatchBody)


def parameters(given: dict[str, str], kind: type[T]) -> T:
    """The query string as a struct; an unknown parameter is refused, not ignored."""
    for name, value in given.items():
        if has_control(value):
            raise InvalidParameter(name, "it holds a control character; take that out")
    try:
        asked = msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError as error:
        wrong = explained(str(error), kind)
        raise InvalidParameter(wrong.field, wrong.fix, wrong.hint) from None
    _check_instants(msgspec.structs.asdict(asked))
    return asked


def _check_instants(asked: dict[str, Any]) -> None:
    for name, value in asked.items():
        if isinstance(value, datetime):
            try:
                check_instant(name, value)
            except InvalidJob as wrong:
                raise InvalidParameter(wrong.field, wrong.fix) from None


def explained(problem: str, kind: type) -> InvalidBody:
    """msgspec's words, with the field where ours has it, and what would have been right."""
    found = _PLACE.match(problem)
    rule, path = (found["rule"], found["path"] or "") if found else (problem, "")
    if unknown := _UNKNOWN.search(rule):
        return _no_such_field(path, unknown["name"], kind)
    if missing := _MISSING.search(rule):
        return InvalidBody(_joined(path, missing["name"]), "give it; it is required")
    parts = _parts_at(path, kind)
    return InvalidBody(path or "body", worded(rule, parts), _choices(parts))


def _no_such_field(path: str, name: str, kind: type) -> InvalidBody:
    known = _fields_at(path, kind)
    near = get_close_matches(name, known, n=1)
    hint = f"Did you mean {near[0]}?" if near else f"Known are: {', '.join(known)}."
    return InvalidBody(
        _joined(path, name[:_SHOWN_CHARACTERS]), "there is no such field; take it out", hint
    )


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _choices(parts: Iterable[Any]) -> str | None:
    """The words that an enum or a Literal allows, where a type is made of one."""
    words: list[str] = []
    for part in parts:
        if isinstance(part, str):
            words.append(part)
        elif _is_enum(part):
            words += [str(each.value) for each in part]
    return f"Choose one of: {', '.join(words)}." if words else None


def _is_enum(part: Any) -> bool:
    return isinstance(part, type) and issubclass(part, Enum)


def _fields_at(path: str, kind: type) -> list[str]:
    return [
        field.encode_name
        for struct in _structs_at(path, kind)
        for field in msgspec.structs.fields(struct)
    ]


def _parts_at(path: str, kind: type) -> list[Any]:
    """What the field at the end of a path is made of."""
    *above, last = _INDEX.sub("", path).split(".")
    types = [
        field.type
        for struct in _structs_at(".".join(above), kind)
        for field in msgspec.structs.fields(struct)
        if field.encode_name == last
    ]
    return _parts(types)


def _structs_at(path: str, kind: type) -> list[Any]:
    """The structs that a path like `jobs[3].dst` may lead to."""
    here: list[Any] = [kind]
    for step in _INDEX.sub("", path).split(".") if path else ():
        types = [
            field.type
            for struct in here
            for field in msgspec.structs.fields(struct)
            if field.encode_name == step
        ]
        here = [part for part in _parts(types) if hasattr(part, "__struct_fields__")]
    return here


def _parts(types: Iterable[Any]) -> list[Any]:
    """A type and all that it is made of: unions, tuples, annotations."""
    found: list[Any] = []
    ahead = list(types)
    while ahead:
        part = ahead.pop()
        found.append(part)
        ahead.extend(reversed(get_args(part)))
    return found
