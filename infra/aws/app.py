"""The CDK app. `cdk deploy -c profile=small` runs it through cdk.json; `make synth` runs `main`."""

import json
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

# Node's own advice about its version; the CDK works, and says it on every start.
os.environ.setdefault("JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION", "20")

from aws_cdk import App

from infra.aws import assets, options
from infra.aws.profiles import PROFILES
from infra.aws.stack import build

OUT: Final = assets.ROOT / "cdk.out"


def application(context: Mapping[str, Any], folder: Path) -> App:
    """One deployment, to be synthesized into a folder; needs no account."""
    app = App(context=flags() | dict(context), outdir=str(folder))
    build(app, options.read(app.node.try_get_context))
    return app


def flags() -> dict[str, Any]:
    """What the CDK's own command line would read and hand over."""
    found: dict[str, Any] = json.loads((assets.ROOT / "cdk.json").read_text())["context"]
    return found


def main() -> None:
    """All profiles, each into its own folder."""
    for name in PROFILES:
        began = time.monotonic()
        application({"profile": name}, OUT / name).synth()
        took = time.monotonic() - began
        sys.stdout.write(f"cdk.out/{name} ({took:.0f} s)\n")


if __name__ == "__main__":
    # The CDK's own command line says where it wants the templates; then there is one deployment.
    if "CDK_OUTDIR" in os.environ:
        app = App()
        build(app, options.read(app.node.try_get_context))
        app.synth()
    else:
        main()
