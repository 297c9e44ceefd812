"""What the zips hold: all of what we wrote, and of the packages what is needed."""

import subprocess
from pathlib import Path

import pytest

from infra.aws import assets
from layers import bytecode
from layers.dependencies import build


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    (tmp_path / "one.py").write_text("ONE = 1\n", encoding="utf-8")
    return tmp_path


def test_the_core_layer_is_our_package_without_its_command_line() -> None:
    tracked = subprocess.check_output(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", str(assets.CORE)],
        cwd=assets.ROOT,
        text=True,
    ).split()
    ours = {assets.ROOT / name for name in tracked if "/lamplighter/cli/" not in name}

    assert set(assets.core_files().values()) == {path for path in ours if path.exists()}
    assert "python/lamplighter/adapters/postgres/sql/claim.sql" in assets.core_files()
    assert "python/lamplighter/adapters/valkey/lua/tick.lua" in assets.core_files()


def test_a_zips_digest_is_that_of_its_names_and_bytes(sources: Path) -> None:
    one, copy = sources / "one.py", sources / "copy.py"
    copy.write_bytes(one.read_bytes())
    first = assets.digest({"a.py": one})

    assert assets.digest({"a.py": copy}) == first
    assert assets.digest({"b.py": one}) != first
    one.write_text("ONE = 2\n", encoding="utf-8")
    assert assets.digest({"a.py": one}) != first


def test_there_is_no_zip_for_a_function_that_is_not() -> None:
    with pytest.raises(FileNotFoundError, match="dashboardd"):
        assets.function_files("dashboardd")


def test_the_layer_has_what_is_imported_and_nothing_else() -> None:
    python = build.layer(build.this_machine()) / "python"

    found = {path.name for path in python.iterdir()}
    assert {"confluent_kafka", "croniter", "msgspec", "psycopg", "tzdata", "urllib3"} <= found
    assert not found & {"boto3", "botocore", "click", "pytest", "bin"}
    assert not [path for path in python.rglob("*") if path.name == "tests" or path.suffix == ".pyi"]
    assert list(python.glob("aws_msk_iam_sasl_signer_python-*.dist-info/METADATA"))
    build.check_size(python)


def test_a_layer_that_is_too_big_is_refused_with_what_is_big(tmp_path: Path) -> None:
    for name, size in {"heavy": 900, "light": 200}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "data").write_bytes(bytes(size))

    build.check_size(tmp_path, most=1_100)
    with pytest.raises(build.LayerFailed, match=r"1,100 bytes(?s:.)+900  heavy\n +200  light"):
        build.check_size(tmp_path, most=1_099)


def test_a_layer_that_cannot_be_built_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = tmp_path / "lock.txt"
    lock.write_text(f"./nothing.whl --hash=sha256:{'0' * 64}\n", encoding="utf-8")
    monkeypatch.setattr(build, "LOCK", lock)

    with pytest.raises(build.LayerFailed, match="pip could not build the layer arm64"):
        build.layer(build.ARM64, cache=tmp_path / "cache")

    assert not list((tmp_path / "cache").glob("*"))


def test_each_lock_and_platform_has_a_layer_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {build.digest(build.ARM64), build.digest(build.this_machine())}
    lock = tmp_path / "lock.txt"
    lock.write_bytes(build.LOCK.read_bytes() + b"\n")
    monkeypatch.setattr(build, "LOCK", lock)

    assert len(before | {build.digest(build.ARM64)}) == 3


def test_bytecode_is_used_whatever_the_time_of_its_source(sources: Path) -> None:
    assert bytecode.add_bytecode(sources, bytecode.HERE)
    (sources / "one.py").write_text("ONE = 2\n", encoding="utf-8")

    seen = subprocess.check_output(
        [bytecode.interpreter(bytecode.HERE) or "", "-c", "import one; print(one.ONE)"],
        cwd=sources,
        text=True,
    )

    assert seen == "1\n"


def test_without_that_python_the_code_goes_alone(sources: Path) -> None:
    assert not bytecode.add_bytecode(sources, (2, 6))
    assert [path.name for path in sources.rglob("*")] == ["one.py"]
