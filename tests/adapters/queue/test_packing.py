"""Commands are packed as the driver packs them, only sooner."""

from typing import Any

import pytest
from valkey._parsers import encoders
from valkey.connection import PythonRespSerializer

from lamplighter.adapters.valkey.packing import PACKER, Packable

_encoder: Any = encoders.Encoder  # without types
COMMANDS: list[list[Packable]] = [
    ["PING"],
    ["SCRIPT LOAD", "return 1"],
    [b"SET", "schlüssel", b"\r\n\0\xff", "PX", 15],
    ["ZADD", "k", 1.5e300, -0.1, 0, ""],
    ["XADD", "k", memoryview(b"abc"), b"x" * 10_000],
    ["XREAD", "STREAMS", *[f"stream:{n}" for n in range(80)], *["0-1"] * 80],
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: str(command[0]))
def test_a_command_is_packed_as_the_driver_packs_it(command: list[Any]) -> None:
    theirs = PythonRespSerializer(6000, _encoder("utf-8", "strict", False).encode)
    assert b"".join(PACKER.pack(*command)) == b"".join(theirs.pack(*command))


@pytest.mark.parametrize("value", [None, True, [1]])
def test_what_a_command_cannot_hold_is_refused(value: Packable) -> None:
    with pytest.raises(TypeError):
        PACKER.pack("SET", "k", value)
