"""What a deployment needs, each asked for in one line, with how to get it."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Final

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from infra.aws import assets
from infra.aws.deploy import cdk
from infra.aws.options import Options

_PYTHON: Final = assets.ROOT / ".venv" / "bin" / "python"


@dataclass(frozen=True)
class Finding:
    """`what` is there, or `missing` says how to get it."""

    what: str
    missing: str = ""

    @property
    def line(self) -> str:
        return f"  no   {self.what}: {self.missing}" if self.missing else f"  ok   {self.what}"


def check(options: Options, session: boto3.Session) -> Iterator[Finding]:
    """In the order in which they are needed."""
    yield _node()
    yield _command_line()
    yield _packages()
    yield _layer()
    yield _region(options, session)
    account, finding = _credentials(options, session)
    yield finding
    if account:
        yield _bootstrap(options, session, account)
    yield _image(options)


def _node() -> Finding:
    version = cdk.said(["node", "--version"])
    if version is None:
        return Finding("Node", f"install Node {cdk.LEAST_NODE} or later; the CDK runs on it")
    if cdk.first_number(version) < cdk.LEAST_NODE:
        return Finding(f"Node {version}", f"install {cdk.LEAST_NODE} or later")
    return Finding(f"Node {version}")


def _command_line() -> Finding:
    what = f"aws-cdk {cdk.VERSION}"
    version = cdk.said(cdk.npx("--version"))
    if version is None:
        return Finding(what, f"npm could not run it; try: {' '.join(cdk.npx('--version'))}")
    return Finding(what)


def _packages() -> Finding:
    """cdk.json calls this Python, wherever we run."""
    if not _PYTHON.exists() or find_spec("aws_cdk") is None:
        return Finding(
            "aws-cdk-lib", "run `make synth` once: it sets up .venv with what the app needs"
        )
    return Finding("aws-cdk-lib")


def _layer() -> Finding:
    """Synthesis has pip fetch the functions' wheels, where `.cache` does not have them yet."""
    if cdk.said([str(_PYTHON), "-m", "pip", "--version"]) is None:
        how = "it fetches the functions' packages; .venv/bin/python -m ensurepip"
        return Finding("pip in .venv", how)
    return Finding("pip, for the functions' packages")


def _region(options: Options, session: boto3.Session) -> Finding:
    """The zones decide; somebody's own setting that says otherwise is a mistake of one of them."""
    theirs = os.environ.get("AWS_REGION") or session.region_name
    if theirs and theirs != options.region:
        zones = ",".join(f"{theirs}{letter}" for letter in "abc")
        how = f"your settings say {theirs}; -c zones={zones}, or AWS_REGION={options.region}"
        return Finding(f"region {options.region}", how)
    return Finding(f"region {options.region}")


def _credentials(options: Options, session: boto3.Session) -> tuple[str | None, Finding]:
    try:
        found = session.client("sts", region_name=options.region).get_caller_identity()
    except (BotoCoreError, ClientError) as problem:
        how = f"`aws sso login`, AWS_PROFILE or AWS_ACCESS_KEY_ID ({_brief(problem)})"
        return None, Finding("credentials", how)
    return found["Account"], Finding(f"account {found['Account']}, as {found['Arn']}")


def _bootstrap(options: Options, session: boto3.Session, account: str) -> Finding:
    what = f"CDK bootstrap of {options.region}"
    how = " ".join(cdk.npx("bootstrap", f"aws://{account}/{options.region}"))
    try:
        ssm = session.client("ssm", region_name=options.region)
        version = ssm.get_parameter(Name=cdk.BOOTSTRAP)["Parameter"]["Value"]
    except (BotoCoreError, ClientError) as problem:
        return Finding(what, f"run once: {how} ({_brief(problem)})")
    if cdk.first_number(version) < cdk.LEAST_BOOTSTRAP:
        return Finding(what, f"it is of version {version}, too old; run again: {how}")
    return Finding(f"{what}, version {version}")


def _image(options: Options) -> Finding:
    """Docker, and only where nobody has named an image of the worker."""
    if image := options.image:
        return Finding(f"image {image.name} {image.version} of the worker")
    version = cdk.said(["docker", "info", "--format", "{{.ServerVersion}}"])
    if not version:
        how = "start it, or name an image that is in ECR: -c image=…, see docs/deploy.md"
        return Finding("Docker, to build the worker's image", how)
    return Finding(f"Docker {version}, to build the worker's image")


def _brief(problem: Exception) -> str:
    return str(problem).splitlines()[0]
