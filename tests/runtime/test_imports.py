"""A start pays for every import: a function loads what it needs, when it needs it."""

import json
import subprocess
from pathlib import Path
from typing import Final
from uuid import uuid4

import pytest

from infra.aws import assets
from infra.aws.disk import Disk, Machine
from infra.local.postgres import Postgres
from infra.local.valkey import Valkey
from lamplighter.adapters.postgres.migrate import migrate
from tests.runtime.cell import recorded

# Of the layer and of Lambda's own packages, before the first call: drivers come with the first use.
LIGHT: Final = {"msgspec", "typing_extensions"}
# Called once in a deployment.
AT_LEISURE: Final = {"migrate": {"psycopg", "psycopg_binary", "psycopg_pool"}}
_PRINT: Final = """
import json, sys
named = {name: getattr(module, "__file__", None) or "" for name, module in sys.modules.items()}
print("MODULES", json.dumps(named))
"""


@pytest.fixture
def database(postgres_server: Postgres) -> str:
    url = postgres_server.ensure_database(f"i{uuid4().hex}")
    migrate(url)
    return url


def imported(disk: Disk, program: str, settings: dict[str, str] | None = None) -> dict[str, str]:
    """Every module and its file, after `program` has run with the function's zips."""
    done = subprocess.run(
        [*disk.python(), "-c", program + _PRINT],
        env=disk.environment() | (settings or {}),
        cwd=disk.task,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("MODULES ")]
    found: dict[str, str] = json.loads(line.removeprefix("MODULES "))
    return found


def packages(disk: Disk, modules: dict[str, str]) -> set[str]:
    """Those that came from the dependency layer or from Lambda's runtime."""
    foreign = tuple(str(each) for each in (disk.dependencies, disk.runtime))
    return {name.partition(".")[0] for name, file in modules.items() if file.startswith(foreign)}


@pytest.mark.parametrize("function", assets.function_names())
def test_a_start_imports_no_driver_and_nothing_from_outside(
    machine: Machine, function: str
) -> None:
    disk = machine.disk(function)

    modules = imported(disk, f"import functions.{function}.handler")

    assert packages(disk, modules) - AT_LEISURE.get(function, set()) <= LIGHT
    assert not {name for name in modules if name.startswith("lamplighter.adapters.memory")}
    ours = {name: file for name, file in modules.items() if name.startswith("functions.")}
    assert set(ours) == {f"functions.{function}", f"functions.{function}.handler"}
    assert all(Path(file).is_relative_to(disk.task) for file in ours.values())
    package = [file for name, file in modules.items() if name.startswith("lamplighter") and file]
    assert package
    assert all(Path(file).is_relative_to(disk.core) for file in package)


def test_whoever_only_reads_needs_no_bus_and_no_aws(
    machine: Machine, database: str, valkey_server: Valkey
) -> None:
    disk = machine.disk("query")
    settings = {
        "LAMPLIGHTER_DATABASE_URL": database,
        "LAMPLIGHTER_VALKEY_URL": valkey_server.url,
        "LAMPLIGHTER_BUS": "kafka",
        "LAMPLIGHTER_KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:1",
    }
    call = f"""
from functions.query.handler import handler
answer = handler({recorded("query")!r}, None)
assert answer["statusCode"] == 200, answer
"""

    found = packages(disk, imported(disk, call, settings))

    assert {"psycopg", "valkey"} <= found
    assert not found & {"confluent_kafka", "boto3", "botocore", "croniter", "urllib3"}
