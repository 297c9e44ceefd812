"""Target documents: each type as documented, and a refusal with a fix for everything else."""

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.domain.errors import InvalidJob
from lamplighter.domain.target import (
    SPECS,
    CommandSpec,
    EcsSpec,
    HttpSpec,
    PythonSpec,
    Secret,
    parse_target,
    redacted,
)

ARN = "arn:aws:states:eu-west-1:123456789012:stateMachine:orders"
SMALLEST: dict[str, dict[str, Any]] = {
    "python": {"handler": "builtin.echo"},
    "command": {"command": "echo hello"},
    "http": {"url": "https://example.org/hook"},
    "lambda": {"function": "resize"},
    "sqs": {"queue_url": "https://sqs.eu-west-1.amazonaws.com/123456789012/q"},
    "sns": {"topic_arn": "arn:aws:sns:eu-west-1:123456789012:t"},
    "eventbridge": {"source": "billing", "detail_type": "Nightly run"},
    "stepfunctions": {"state_machine_arn": ARN},
    "ecs": {"cluster": "c", "task_definition": "t:3"},
}


@pytest.mark.parametrize("kind", SPECS)
def test_the_least_that_each_type_needs_is_enough(kind: str) -> None:
    assert type(parse_target({"type": kind, **SMALLEST[kind]})) is SPECS[kind]


@pytest.mark.parametrize("kind", SPECS)
def test_what_each_type_needs_is_asked_for(kind: str) -> None:
    for field in SMALLEST[kind]:
        given_fields = {name: each for name, each in SMALLEST[kind].items() if name != field}
        with pytest.raises(InvalidJob, match=f"missing required field `{field}`; its fields are"):
            parse_target({"type": kind, **given_fields})


@pytest.mark.parametrize("kind", SPECS)
def test_a_field_that_a_type_does_not_have_is_refused(kind: str) -> None:
    with pytest.raises(InvalidJob, match="unknown field `colour`") as refused:
        parse_target({"type": kind, **SMALLEST[kind], "colour": "red"})
    assert refused.value.field == "target"


@pytest.mark.parametrize("kind", SPECS)
def test_a_field_of_the_wrong_type_is_named(kind: str) -> None:
    field = next(iter(SMALLEST[kind]))
    with pytest.raises(InvalidJob) as refused:
        parse_target({"type": kind, **SMALLEST[kind], field: 17})
    assert (refused.value.field, "got `int`" in refused.value.fix) == (f"target.{field}", True)


@pytest.mark.parametrize("kind", SPECS)
def test_an_empty_text_is_refused(kind: str) -> None:
    for field in SMALLEST[kind]:
        with pytest.raises(InvalidJob) as refused:
            parse_target({"type": kind, **SMALLEST[kind], field: ""})
        assert refused.value.field == f"target.{field}"


@pytest.mark.parametrize("document", [None, "python", 3, [], ["type"]])
def test_a_target_is_an_object(document: object) -> None:
    with pytest.raises(InvalidJob) as refused:
        parse_target(document)
    assert refused.value.field == "target"


@pytest.mark.parametrize(
    ("kind", "hint"),
    [
        ("htp", "did you mean 'http'?"),
        ("Python", "did you mean 'python'?"),
        ("carrier pigeon", "give one of python, command, http"),
        (None, "give one of"),
        ({"a": 1}, "give one of"),
    ],
)
def test_an_unknown_type_is_answered_with_those_that_exist(kind: object, hint: str) -> None:
    with pytest.raises(InvalidJob) as refused:
        parse_target({"type": kind})
    assert refused.value.field == "target.type"
    assert hint in refused.value.fix


BAD_VALUES: list[tuple[str, dict[str, Any], str]] = [
    ("python", {"handler": "../etc/passwd"}, "handler"),
    ("python", {"handler": "a b"}, "handler"),
    ("python", {"handler": "os:system:x"}, "handler"),
    ("python", {"handler": "x" * 201}, "handler"),
    ("command", {"command": "   "}, "command"),
    ("command", {"command": "echo \0"}, "command"),
    ("command", {"command": "\ud800"}, "command"),
    ("command", {"command": "x" * 70_000}, "command"),
    ("command", {"env": {"A-B": "1"}}, "env"),
    ("command", {"env": {"": "1"}}, "env"),
    ("command", {"env": {"LAMPLIGHTER_FENCE": "99"}}, "env"),
    ("command", {"env": {"A": "x\0y"}}, "env.A"),
    ("command", {"env": {"A": 1}}, "env[...]"),
    ("command", {"env": {"A": {"secret": "../up"}}}, "env[...].secret"),
    ("command", {"env": {"A": {"secret": "x", "plain": "y"}}}, "env[...]"),
    ("command", {"env": {f"A{n}": "" for n in range(51)}}, "env"),
    ("command", {"cwd": "relative/path"}, "cwd"),
    ("command", {"grace_seconds": 61}, "grace_seconds"),
    ("http", {"url": "ftp://example.org"}, "url"),
    ("http", {"url": "file:///etc/passwd"}, "url"),
    ("http", {"url": "//example.org"}, "url"),
    ("http", {"url": "http://"}, "url"),
    ("http", {"url": "http://a:b@example.org"}, "url"),
    ("http", {"url": "http://example.org:99999/"}, "url"),
    ("http", {"url": "http://example.org/a b"}, "url"),
    ("http", {"url": "http://example.org/\r\nHost: other"}, "url"),
    ("http", {"url": "http://[::1/"}, "url"),
    ("http", {"url": "http://example.org/" + "x" * 2100}, "url"),
    ("http", {"method": "TRACE"}, "method"),
    ("http", {"method": "post"}, "method"),
    ("http", {"headers": {"Host": "other"}}, "headers"),
    ("http", {"headers": {"Webhook-Signature": "v1,x"}}, "headers"),
    ("http", {"headers": {"X Y": "1"}}, "headers"),
    ("http", {"headers": {"X": "1", "x": "2"}}, "headers"),
    ("http", {"headers": {"X": "a\r\nY: b"}}, "headers.X"),
    ("http", {"headers": {"X": "ü"}}, "headers.X"),
    ("http", {"signing_secret": "plain"}, "signing_secret"),
    ("sqs", {"queue_url": "my-queue"}, "queue_url"),
    ("sqs", {"attributes": {f"a{n}": "x" for n in range(7)}}, "attributes"),
    ("sns", {"topic_arn": "arn with blanks"}, "topic_arn"),
    ("ecs", {"subnets": ["subnet a"]}, "subnets"),
    ("ecs", {"launch_type": "MOON"}, "launch_type"),
    ("lambda", {"wait": "yes"}, "wait"),
]


@pytest.mark.parametrize(("kind", "changed", "field"), BAD_VALUES)
def test_a_value_that_makes_no_sense_is_refused(
    kind: str, changed: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidJob) as refused:
        parse_target({"type": kind, **SMALLEST[kind], **changed})
    assert refused.value.field == f"target.{field}"


def test_a_credential_in_a_header_stays_out_of_the_refusal() -> None:
    with pytest.raises(InvalidJob) as refused:
        parse_target({"type": "http", "url": "http://a", "headers": {"Authorization": "hush\n"}})
    assert "hush" not in str(refused.value)


def test_a_secret_can_stand_for_a_text() -> None:
    document = {"type": "http", "url": "http://a", "headers": {"A": {"secret": "key"}, "B": "c"}}
    spec = parse_target(document)
    assert isinstance(spec, HttpSpec)
    assert spec.headers == {"A": Secret("key"), "B": "c"}


def test_what_is_left_out_has_a_default() -> None:
    command = parse_target({"type": "command", "command": "ls"})
    ecs = parse_target({"type": "ecs", **SMALLEST["ecs"]})
    assert command == CommandSpec("ls", env={}, cwd=None, grace_seconds=2.0)
    assert isinstance(ecs, EcsSpec)
    assert (ecs.launch_type, ecs.wait, ecs.subnets) == ("FARGATE", True, ())
    assert parse_target({"type": "python", "handler": "a.b:c"}) == PythonSpec("a.b:c")


def test_a_shown_target_hides_values_of_env_and_credentials_but_no_reference() -> None:
    document = {
        "type": "x", "env": {"A": "hush", "B": {"secret": "b"}},
        "headers": {"Authorization": "hush", "X-API-Key": {"secret": "k"}, "Accept": "text/plain"},
    }  # fmt: skip
    shown = redacted(document)
    assert "hush" not in json.dumps(shown)
    assert shown["env"] == {"A": "…", "B": {"secret": "b"}}
    assert shown["headers"]["Accept"] == "text/plain"
    assert shown["headers"]["X-API-Key"] == {"secret": "k"}
    assert document["headers"]["Authorization"] == "hush"  # type: ignore[index]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
field_names = st.sampled_from(
    sorted({name for kind in SPECS.values() for name in kind.__struct_fields__})
)


@given(st.sampled_from(sorted(SPECS)), st.dictionaries(field_names, json_values))
def test_no_document_gets_another_answer_than_a_target_or_a_refusal(
    kind: str, fields: dict[str, Any]
) -> None:
    with contextlib.suppress(InvalidJob):
        spec = parse_target({"type": kind, **SMALLEST[kind], **fields})
        assert type(spec) is SPECS[kind]
