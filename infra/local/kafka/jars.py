"""Kafka's jars: fetched by Maven as pom.xml names them, kept in a cache beside the code.

`python -m infra.local.kafka.jars` fetches them; with `--if-possible`, only where the tools are.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from infra.local.errors import ServiceFailed
from infra.local.tools import KAFKA_TOOLS, missing

POM: Final = Path(__file__).with_name("pom.xml")
CACHE: Final = Path(__file__).parents[3] / ".cache" / "kafka"


def version() -> str:
    """The version that pom.xml names; there is no other place that does."""
    found = re.search(r"<kafka\.version>(.+)</kafka\.version>", POM.read_text(encoding="utf-8"))
    if not found:
        raise ServiceFailed(f"{POM} names no kafka.version")
    return found.group(1)


def jars() -> Path:
    """The folder with the jars, filled at first use."""
    folder = CACHE / version()
    if not folder.exists():
        _fetch(folder)
    return folder


def _fetch(folder: Path) -> None:
    """Fetch aside and rename: a folder that exists is a folder that is complete."""
    if tools := missing(KAFKA_TOOLS):
        raise ServiceFailed("\n".join(tool.advice for tool in tools))
    fresh = folder.with_name(f"{folder.name}.{os.getpid()}")
    try:
        _run_maven(fresh)
        _put_in_place(fresh, folder)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _run_maven(target: Path) -> None:
    # -C: an artifact whose checksum differs is an error, not a warning.
    maven = ["mvn", "--batch-mode", "--quiet", "-C", "-f", str(POM)]
    copy = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={target}"]
    done = subprocess.run([*maven, *copy], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ServiceFailed(f"Maven could not fetch Kafka's jars:\n{done.stdout}{done.stderr}")


def _put_in_place(fresh: Path, folder: Path) -> None:
    try:
        fresh.rename(folder)
    except OSError:
        # Somebody else fetched the same jars in the meantime: theirs are as good.
        if not folder.exists():
            raise


def main(arguments: list[str]) -> int:
    """Make sure that the jars are there. Tests that need a missing tool say so themselves."""
    if "--if-possible" in arguments and missing(KAFKA_TOOLS):
        return 0
    if not (CACHE / version()).exists():
        sys.stdout.write(f"fetching Apache Kafka {version()}\n")
    jars()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
