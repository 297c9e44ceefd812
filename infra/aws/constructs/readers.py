"""Which functions Lambda's mappings call, and as which consumer groups they read."""

from typing import Final

READERS: Final = ("executor", "recorder", "resolver")


def mapping_group(group: str, topic: str) -> str:
    """Two mappings must not share a group, so each topic's has its own: `recorder.job-events`."""
    return f"{group}.{topic}"
