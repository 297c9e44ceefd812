import os
import stat
import subprocess
from pathlib import Path

import psycopg
import pytest

from infra.local.errors import ServiceFailed
from infra.local.folder import secret
from infra.local.identity import lesser_identity, let_pass, let_read
from infra.local.postgres import DEFAULTS, Postgres


def _ask(server: Postgres, question: str) -> str:
    with psycopg.connect(server.url) as connection:
        row = connection.execute(question.encode()).fetchone()
    assert row
    return str(row[0])


def test_eighteen_is_the_default_and_sixteen_can_be_chosen(
    postgres_server: Postgres, postgres16_server: Postgres
) -> None:
    assert _ask(postgres_server, "SHOW server_version").startswith("18.")
    assert _ask(postgres16_server, "SHOW server_version").startswith("16.")


def test_another_version_is_refused_by_name(folder: Path) -> None:
    with pytest.raises(ServiceFailed, match="no embedded PostgreSQL 17; there are 16 and 18"):
        Postgres(folder, version=17)


def test_it_is_durable_unless_told_otherwise_and_settings_reach_it(folder: Path) -> None:
    assert (DEFAULTS["fsync"], DEFAULTS["synchronous_commit"]) == ("on", "on")
    with Postgres(folder, settings={"shared_buffers": "32MB"}) as server:
        assert _ask(server, "SHOW fsync") == "on"
        assert _ask(server, "SHOW synchronous_commit") == "on"
        assert _ask(server, "SHOW shared_buffers") == "32MB"
        assert _ask(server, "SHOW timezone") == "UTC"


def test_only_the_password_opens_it_and_only_on_this_machine(postgres_server: Postgres) -> None:
    guess = postgres_server.url.replace(secret(postgres_server.folder), "guess")

    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(guess)

    assert _ask(postgres_server, "SHOW listen_addresses") == "127.0.0.1"
    rules = "SELECT string_agg(DISTINCT auth_method, ',') FROM pg_hba_file_rules"
    assert _ask(postgres_server, rules) == "scram-sha-256"


def test_the_password_is_in_no_argument_and_no_log(postgres_server: Postgres) -> None:
    password = secret(postgres_server.folder)
    command = subprocess.check_output(["ps", "-ww", "-o", "args=", "-p", str(postgres_server.pid)])

    assert password.encode() not in command
    assert password not in postgres_server.log.read_text(encoding="utf-8")
    assert password not in postgres_server.shown_url
    assert not (postgres_server.folder / "password.initdb").exists()


def test_a_unix_socket_is_there_as_well(postgres_server: Postgres) -> None:
    place = str(postgres_server.folder / "data")
    with psycopg.connect(postgres_server.url, host=place) as connection:
        assert connection.info.host == place


def test_a_folder_too_deep_for_a_socket_still_works(folder: Path) -> None:
    deep = folder / ("deep" * 25)
    with Postgres(deep) as server:
        assert _ask(server, "SHOW unix_socket_directories") == ""


def test_data_of_another_version_are_refused_and_left_alone(folder: Path) -> None:
    with Postgres(folder, version=16) as server:
        _ask(server, "SELECT 1")

    with pytest.raises(ServiceFailed, match="made by PostgreSQL 16, and this is 18"):
        Postgres(folder).start()

    with Postgres(folder, version=16) as server:
        assert _ask(server, "SELECT 1") == "1"


def test_a_cluster_that_was_half_made_is_made_again(folder: Path) -> None:
    half = folder / "data.new"
    half.mkdir()
    (half / "PG_VERSION").write_text("18\n", encoding="ascii")

    with Postgres(folder) as server:
        assert _ask(server, "SELECT 1") == "1"


def test_a_database_is_made_once(postgres_server: Postgres) -> None:
    name = 'with "quotes" & spaces'

    urls = {postgres_server.ensure_database(name) for _ in range(2)}

    with psycopg.connect(urls.pop()) as connection:
        assert connection.info.dbname == name
    assert not urls


@pytest.mark.skipif(os.geteuid() != 0, reason="what root needs matters to root only")
def test_under_root_the_server_is_somebody_else(postgres_server: Postgres) -> None:
    owner = subprocess.check_output(["ps", "-o", "uid=", "-p", str(postgres_server.pid)])
    identity = lesser_identity()

    assert identity
    assert int(owner) == identity.uid != 0


def test_passing_through_is_all_that_others_are_granted(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)

    let_pass(closed / "data")

    assert stat.S_IMODE(closed.stat().st_mode) == 0o701


def test_what_a_strict_umask_hid_becomes_readable_and_nothing_more(tmp_path: Path) -> None:
    tree, program, text = tmp_path / "t", tmp_path / "t" / "program", tmp_path / "t" / "text"
    tree.mkdir()
    for path, mode in ((program, 0o700), (text, 0o600), (tree, 0o700)):
        path.touch()
        path.chmod(mode)

    let_read(tree)

    modes = [stat.S_IMODE(path.stat().st_mode) for path in (tree, program, text)]
    assert modes == [0o705, 0o705, 0o604]
