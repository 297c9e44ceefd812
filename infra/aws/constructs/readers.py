"""Which functions Lambda's mappings call."""

from typing import Final

READERS: Final = ("executor", "recorder", "resolver")
