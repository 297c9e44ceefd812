"""IAM's bounds: what is written into a role, what is attached to it, and how many of those."""

import json
from collections import Counter
from pathlib import Path
from typing import Any, Final

import pytest

from infra.aws.options import InvalidOption, of
from infra.aws.targets import MOST_CHARACTERS, characters
from tests.infra.aws.conftest import synthesize
from tests.infra.aws.template import Template

_MOST_INLINE: Final = 10_240  # all that is written into one role
_MOST_MANAGED: Final = 6_144
_MOST_ATTACHED: Final = 10
# The longest that there are.
_KNOWN: Final = {
    "AWS::Partition": "aws-us-gov",
    "AWS::Region": "ap-southeast-2",
    "AWS::AccountId": "123456789012",
    "AWS::URLSuffix": "amazonaws.com.cn",
    "DBClusterResourceId": f"cluster-{'D' * 26}",
}
# Of a broker whose name is as long as that of a cell allows; no ARN here is longer.
_ARN: Final = f"arn:aws-us-gov:kafka:ap-southeast-2:123456789012:cluster/{'n' * 50}/{'u' * 38}"
_ACCOUNT: Final = "us-east-1:123456789012"
_KINDS: Final = (
    f"arn:aws:lambda:{_ACCOUNT}:function:reports-{{n}}",
    f"arn:aws:sqs:{_ACCOUNT}:orders-{{n}}",
    f"arn:aws:states:{_ACCOUNT}:stateMachine:orders-{{n}}",
    f"arn:aws:states:{_ACCOUNT}:stateMachine:orders-{{n}}:live",
    f"arn:aws:ecs:{_ACCOUNT}:task-definition/report-{{n}}",
    "arn:aws:iam::123456789012:role/report-{n}",
)


def _deployed(value: Any) -> Any:
    """As long as it will be: a reference stands for an ARN, though some are for a name alone."""
    match value:
        case {"Ref": name} | {"Fn::GetAtt": [_, name]} | {"Fn::Sub": name}:
            return _KNOWN.get(name, _ARN)
        case {"Fn::Join": [glue, parts]}:
            return glue.join(map(_deployed, parts))
        case {"Fn::Select": [n, {"Fn::Split": [by, of_what]}]}:
            return _deployed(of_what).split(by)[n]
        case dict():
            return {key: _deployed(each) for key, each in value.items()}
        case list():
            return [_deployed(each) for each in value]
    return value


def _length(policy: dict[str, Any]) -> int:
    """White space does not count."""
    return len(json.dumps(_deployed(policy["PolicyDocument"]), separators=(",", ":")))


def _check(template: Template) -> None:
    inline: Counter[str] = Counter()
    attached: Counter[str] = Counter()
    for name, role in template.of_type("AWS::IAM::Role").items():
        inline[name] += sum(map(_length, role["Properties"].get("Policies", [])))
        attached[name] += len(role["Properties"].get("ManagedPolicyArns", []))
    for policy in template.properties("AWS::IAM::Policy"):
        inline.update({role["Ref"]: _length(policy) for role in policy["Roles"]})
    for policy in template.properties("AWS::IAM::ManagedPolicy"):
        assert _length(policy) <= _MOST_MANAGED
        attached.update(role["Ref"] for role in policy["Roles"])
    assert {role: size for role, size in inline.items() if size > _MOST_INLINE} == {}
    assert {role: count for role, count in attached.items() if count > _MOST_ATTACHED} == {}


def test_every_policy_is_one_that_iam_takes(example: Template) -> None:
    _check(example)


def _as_many_as_fit(kinds: tuple[str, ...]) -> list[str]:
    targets = [f"arn:aws:ecs:{_ACCOUNT}:cluster/batch"]
    while characters(targets) <= MOST_CHARACTERS:
        targets += [kind.format(n=f"{len(targets):05}") for kind in kinds]
    return targets[: -len(kinds)]


@pytest.mark.parametrize("kinds", [_KINDS, _KINDS[1:2]], ids=["of every kind", "alike"])
def test_the_longest_list_of_targets_fits(kinds: tuple[str, ...], tmp_path: Path) -> None:
    targets = _as_many_as_fit(kinds)
    _check(synthesize(tmp_path, profile="standard", secrets="true", targets=",".join(targets)))


def test_a_longer_one_is_refused_with_what_to_do() -> None:
    targets = _as_many_as_fit(_KINDS[1:2])
    assert len(targets) > 500
    of({"targets": ",".join(targets)})
    targets.append(f"arn:aws:sqs:{_ACCOUNT}:one-more-of-them")
    with pytest.raises(InvalidOption, match=r"name many by one ARN, as .*\*, or leave some to an"):
        of({"targets": ",".join(targets)})
