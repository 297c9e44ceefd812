"""What a deployment may turn on is imported when it is used: all of it must be in the layers."""

import ast
import subprocess
from collections.abc import Iterator
from typing import Final

from infra.aws import assets
from infra.aws.disk import Machine

_IMPORT: Final = """
import importlib, sys
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except ImportError as missing:
        print(f"{name}: {missing}")
"""
# What the profiles use beside the drivers of every test here: the bus on SQS, IAM, logs on S3,
# traces, alerts, the courier.
_USED: Final = {
    "lamplighter.adapters.sqs.bus",
    "lamplighter.adapters.aws_identity.rds",
    "lamplighter.adapters.aws_identity.msk",
    "lamplighter.adapters.ecs_protection",
    "lamplighter.adapters.targets.http.courier",
}


def _modules() -> list[str]:
    """Of the core layer, every one."""
    sources = [name.removeprefix("python/") for name in assets.core_files() if name.endswith(".py")]
    dotted = [name.removesuffix(".py").replace("/", ".") for name in sources]
    return [name.removesuffix(".__init__") for name in dotted]


def _named() -> Iterator[str]:
    """Whatever a source imports, be it first inside a function."""
    for name, path in assets.core_files().items():
        if name.endswith(".py"):
            for node in ast.walk(ast.parse(path.read_bytes())):
                if isinstance(node, ast.Import):
                    yield from (each.name for each in node.names)
                elif isinstance(node, ast.ImportFrom) and node.module:
                    yield node.module


def test_every_module_of_the_core_is_imported_from_the_layers_alone(machine: Machine) -> None:
    disk = machine.disk("executor")
    modules = sorted({*_modules(), *_named()})

    done = subprocess.run(
        [*disk.python(), "-c", _IMPORT, *modules],
        env=disk.environment(),
        cwd=disk.task,
        capture_output=True,
        text=True,
        check=False,
    )

    assert set(modules) >= {"croniter", *_USED}
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)
