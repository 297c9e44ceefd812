"""How an event of ours differs in shape from a sample: keys that are there or not, and types."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Sample:
    """A sample event, and where reality is known to differ from it. Places are `key.key`."""

    name: str
    # In the sample, and not in every event.
    optional: set[str] = field(default_factory=set)
    # In events, and not in the sample.
    extra: set[str] = field(default_factory=set)
    # Keys are whoever's it is; only the type is compared.
    open: set[str] = field(default_factory=set)


def differences(ours: Any, theirs: Any, sample: Sample, place: str = "") -> list[str]:
    """Nothing where they agree; else one line for each place."""
    if type(ours) is not type(theirs):
        return [f"{place}: {type(ours).__name__}, not {type(theirs).__name__}"]
    if isinstance(ours, list):
        # Of a list its first stands for all.
        pairs = [(each, theirs[0] if theirs else each) for each in ours]
        return [line for pair in pairs for line in differences(*pair, sample, place)]
    if not isinstance(ours, dict) or place in sample.open:
        return []
    at = {key: f"{place}.{key}".lstrip(".") for key in (*ours, *theirs)}
    missing = [at[key] for key in theirs if key not in ours and at[key] not in sample.optional]
    added = [at[key] for key in ours if key not in theirs and at[key] not in sample.extra]
    both = [key for key in ours if key in theirs]
    return [
        *(f"{each}: missing" for each in missing),
        *(f"{each}: unknown to the sample" for each in added),
        *(line for key in both for line in differences(ours[key], theirs[key], sample, at[key])),
    ]
