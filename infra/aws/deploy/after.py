"""What to do once the stack is there: its outputs, a key, a first job."""

import json
from collections.abc import Mapping
from pathlib import Path

from infra.aws.options import Options

_BODY = """'{"name": "hello", "target": {"type": "python", "handler": "builtin.echo"}}'"""
_JSON = "-H 'content-type: application/json'"
_SUBMIT = "lamplighter submit --name hello --python builtin.echo --wait"


def read(outputs: Path, stack: str) -> dict[str, str]:
    """By the names that the stack gives them; the CDK puts a hash behind those of constructs."""
    found: dict[str, str] = json.loads(outputs.read_text(encoding="utf-8")).get(stack, {})
    return {"ApiUrl" if name.startswith("ApiUrl") else name: value for name, value in found.items()}


def lines(options: Options, outputs: Mapping[str, str]) -> list[str]:
    url = outputs.get("ApiUrl", "<the output ApiUrl>")
    told = [f"  {name:<20} {value}" for name, value in sorted(outputs.items())]
    return [
        "",
        *told,
        "",
        "The first job:",
        *(f"  {line}" for line in first_job(options, outputs, url)),
    ]


def first_job(options: Options, outputs: Mapping[str, str], url: str) -> list[str]:
    """As the API lets one in: by IAM, a token, or a key."""
    if options.auth == "api-key":
        function = outputs.get("AuthorizerFunction", "<the output AuthorizerFunction>")
        return [
            f"export AWS_REGION={options.region} LAMPLIGHTER_URL={url}",
            f"export LAMPLIGHTER_API_KEY=$(lamplighter keys create first --function {function})",
            _SUBMIT,
        ]
    if options.auth == "jwt":
        return [
            f"export LAMPLIGHTER_URL={url}",
            f"export LAMPLIGHTER_API_KEY=<a token of {options.jwt_issuer}>",
            _SUBMIT,
        ]
    return [
        f'curl {url}/jobs --aws-sigv4 "aws:amz:{options.region}:execute-api" \\',
        '  --user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY" \\',
        '  -H "x-amz-security-token: $AWS_SESSION_TOKEN" \\',
        f"  {_JSON} -d {_BODY}",
    ]
