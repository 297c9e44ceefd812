"""The CDK's command line, of one version: what npm calls its latest does not fit our assemblies."""

import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from infra.aws import assets

VERSION: Final = "2.1147.0"
LEAST_NODE: Final = 20
# What `cdk bootstrap` leaves behind, under the name that it takes unless told another.
BOOTSTRAP: Final = "/cdk-bootstrap/hnb659fds/version"
# Assets in S3 and ECR, published by roles.
LEAST_BOOTSTRAP: Final = 6
_NUMBER: Final = re.compile(r"\d+")


def npx(*arguments: str) -> list[str]:
    """--yes: npm would ask whether it may fetch it."""
    return ["npx", "--yes", f"aws-cdk@{VERSION}", *arguments]


def deploy_command(
    stack: str, context: Mapping[str, str], outputs: Path, *, approved: bool
) -> list[str]:
    chosen = [word for name, value in context.items() for word in ("-c", f"{name}={value}")]
    asked = ["--require-approval", "never"] if approved else []
    return npx("deploy", stack, *chosen, *asked, "--outputs-file", str(outputs))


def said(command: Sequence[str]) -> str | None:
    """What a program prints, in one line; None where it is missing, or fails."""
    if shutil.which(command[0]) is None:
        return None
    done = subprocess.run(
        command, cwd=assets.ROOT, capture_output=True, text=True, check=False
    )  # fmt: skip
    return done.stdout.strip() if done.returncode == 0 else None


def first_number(text: str) -> int:
    """v20.20.2 is 20."""
    found = _NUMBER.search(text)
    return int(found.group()) if found else 0
