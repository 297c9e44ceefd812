"""All profiles, as `make synth` makes them, by a process that may connect to nobody."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from infra.aws import assets
from infra.aws.profiles import PROFILES

pytestmark = pytest.mark.xdist_group("aws")

# The CDK itself is a child, spoken to through pipes.
_IN_NODE: Final = """
const refuse = () => { throw new Error("there is no network here"); };
require("net").Socket.prototype.connect = refuse;
require("dgram").Socket.prototype.send = refuse;
require("dns").lookup = refuse;
"""
# The layer takes pip, so there is a file in its place.
_PROGRAM: Final = """
import pathlib, socket, sys

def refuse(*_, **__):
    raise OSError("there is no network here")

socket.socket.connect = socket.socket.connect_ex = socket.socket.sendto = refuse
socket.getaddrinfo = socket.create_connection = refuse

from layers.dependencies import build

def stubbed(platform, **_):
    (folder / "layer" / "python").mkdir(parents=True, exist_ok=True)
    (folder / "layer" / "python" / "nothing.py").touch()
    return folder / "layer"

folder = pathlib.Path(sys.argv[1])
build.layer = stubbed

from infra.aws import app

app.OUT = folder / "out"
app.main()
"""


def test_all_profiles_are_made_without_a_network(tmp_path: Path) -> None:
    preload = tmp_path / "offline.cjs"
    preload.write_text(_IN_NODE, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(tmp_path)],
        env=os.environ | {"NODE_OPTIONS": f"--require {preload}"},
        cwd=assets.ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    for name in PROFILES:
        assert f"cdk.out/{name} (" in done.stdout
        made = tmp_path / "out" / name / "lamplighter.template.json"
        assert len(json.loads(made.read_text(encoding="utf-8"))["Resources"]) > 100
        assert list(made.parent.rglob("nothing.py")), "the layer was asked for"
