"""Commands as Valkey reads them, packed in one pass.

The driver's own packer joins its buffer anew for every argument. A read of eighty streams or a
batch of a thousand statuses then costs more in it than all the rest of the call.
"""

from typing import Final

Packable = bytes | bytearray | memoryview | str | int | float


class Packer:
    """What the driver calls a command packer; every connection may share it."""

    def pack(self, name: str | bytes, *arguments: Packable) -> list[bytes]:
        # A name may be of several words, as in SCRIPT LOAD; the server wants them apart.
        words = (name.encode() if isinstance(name, str) else name).split()
        parts = [*words, *[each if type(each) is bytes else _bytes(each) for each in arguments]]
        packed = b"".join([b"$%d\r\n%b\r\n" % (len(part), part) for part in parts])
        return [b"*%d\r\n" % len(parts) + packed]


def _bytes(value: Packable) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"a command takes bytes, text and numbers, and not {type(value).__name__}")
    return repr(value).encode()


PACKER: Final = Packer()
