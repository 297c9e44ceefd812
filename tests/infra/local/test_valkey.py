import subprocess
from pathlib import Path
from typing import Any

import pytest
import valkey

from infra.local.folder import secret
from infra.local.valkey import Valkey


def _config(server: Valkey, name: str) -> str:
    with valkey.Valkey.from_url(server.url, decode_responses=True) as client:
        found: Any = client.config_get(name)
    return str(found[name])


def test_it_is_valkey_nine_with_an_append_only_file(valkey_server: Valkey) -> None:
    with valkey.Valkey.from_url(valkey_server.url) as client:
        info: Any = client.info("server")

    assert info["valkey_version"].startswith("9.")
    assert _config(valkey_server, "appendonly") == "yes"
    assert _config(valkey_server, "appendfsync") == "everysec"
    assert _config(valkey_server, "maxmemory-policy") == "noeviction"
    assert _config(valkey_server, "bind") == "127.0.0.1"


def test_every_write_can_be_synced(folder: Path) -> None:
    with Valkey(folder, appendfsync="always") as server:
        assert _config(server, "appendfsync") == "always"


def test_only_the_password_opens_it(valkey_server: Valkey) -> None:
    stranger = valkey.Valkey(host="127.0.0.1", port=valkey_server.port)
    with stranger, pytest.raises(valkey.AuthenticationError):
        stranger.ping()


def test_the_password_is_in_no_argument_and_no_log(valkey_server: Valkey) -> None:
    password = secret(valkey_server.folder)
    command = subprocess.check_output(["ps", "-ww", "-o", "args=", "-p", str(valkey_server.pid)])

    assert password.encode() not in command
    assert password not in valkey_server.log.read_text(encoding="utf-8")
    assert password not in valkey_server.shown_url
