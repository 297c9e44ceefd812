"""Lambda's disk on this machine: a zip, the layers, the runtime's own packages, and nothing else.

For tests and measurements. Only the dependency layer is not the one that is shipped: it has the
same lock, and the wheels of this machine.
"""

import importlib.metadata
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from infra.aws import assets
from layers.bytecode import HERE, add_bytecode
from layers.dependencies.build import layer, this_machine

# What Lambda's Python brings. What boto3 stands on and our layer has too (urllib3, dateutil, six)
# is left to the layer here: a layer without them must not pass by Lambda's grace.
_RUNTIME: Final = (
    "awslambdaric",
    "simplejson",
    "snapshot-restore-py",
    "boto3",
    "botocore",
    "s3transfer",
    "jmespath",
)


@dataclass(frozen=True)
class Disk:
    """Where each part is unpacked; on Lambda /var/task, /opt (twice) and /var/runtime."""

    task: Path
    core: Path
    dependencies: Path
    runtime: Path
    # What a deployer has brought: one more layer.
    brought: Path | None = None

    def python(self) -> list[str]:
        """The interpreter with no packages but those on `path`: no site, no current folder."""
        return [sys.executable, "-S", "-s", "-P"]

    def environment(self) -> dict[str, str]:
        """Of its own, all of it. On Lambda nobody can write bytecode beside the code either."""
        layers = (self.core, self.dependencies, self.brought)
        path = (self.task, *(each / "python" for each in layers if each), self.runtime)
        return {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "LANG": "en_US.UTF-8",
            "TZ": ":UTC",
            "PYTHONPATH": ":".join(str(each) for each in path),
            "PYTHONDONTWRITEBYTECODE": "1",
            "LAMBDA_TASK_ROOT": str(self.task),
        }

    def copy(self, folder: Path) -> "Disk":
        """One to break: code and core are its own, packages are linked."""
        links = folder / "dependencies" / "python"
        links.mkdir(parents=True)
        for package in (self.dependencies / "python").iterdir():
            (links / package.name).symlink_to(package)
        return Disk(
            Path(shutil.copytree(self.task, folder / "task")),
            Path(shutil.copytree(self.core, folder / "core")),
            folder / "dependencies",
            self.runtime,
        )


class Machine:
    """All the zips, unpacked: what the functions share once, and each one's own code."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._core = assets.write(assets.core_files(), folder / "core")
        self._dependencies = layer(this_machine())
        self._runtime = _runtime(folder / "runtime")
        for name in assets.function_names():
            assets.write(assets.function_files(name), folder / "task" / name)
        # As the stack does for Lambda's Python.
        add_bytecode(folder / "core", HERE)
        add_bytecode(folder / "task", HERE)
        self._unpacked = self._paths()

    def disk(self, function: str) -> Disk:
        task = self._folder / "task" / function
        return Disk(task, self._core, self._dependencies, self._runtime)

    def written(self) -> set[Path]:
        """What has come since: on Lambda it could not have been written."""
        return self._paths() - self._unpacked

    def _paths(self) -> set[Path]:
        return set(self._folder.rglob("*"))


def _runtime(folder: Path) -> Path:
    """Links to the packages of this environment that Lambda has, and to no others."""
    folder.mkdir()
    for name in _RUNTIME:
        package = importlib.metadata.distribution(name)
        for top in {file.parts[0] for file in package.files or []} - {".."}:
            (folder / top).symlink_to(str(package.locate_file(top)))
    return folder
