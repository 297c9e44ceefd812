"""Settling: delete messages, or say when others may see them again; ten in a call."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from lamplighter.adapters.sqs.calls import GONE, MOST_ENTRIES, Calls, each_entry


class Handle(msgspec.Struct, frozen=True):
    """A message in hand. `seconds`: when others may see it, where that is asked."""

    topic: str
    handle: str
    seconds: int = 0


class Settling:
    """What is gone already needs no settling: whoever has it now settles it."""

    def __init__(self, client: Any, urls: Mapping[str, str], calls: Calls) -> None:
        self._client = client
        self._urls = urls
        self._calls = calls

    def delete(self, handles: Sequence[Handle], deadline: float) -> None:
        self._calls.each(
            [partial(self._delete, some, deadline) for some in _by_queue(handles)], deadline
        )

    def show(self, handles: Sequence[Handle], deadline: float) -> None:
        self._calls.each(
            [partial(self.show_some, some, deadline) for some in _by_queue(handles)], deadline
        )

    def show_some(self, handles: Sequence[Handle], deadline: float) -> None:
        """Of one queue, ten at most; in this thread."""
        entries = [_entry(n, each) for n, each in enumerate(handles)]
        for entry, each in zip(entries, handles, strict=True):
            entry["VisibilityTimeout"] = each.seconds
        self._call(self._client.change_message_visibility_batch, handles, entries, deadline)

    def _delete(self, handles: Sequence[Handle], deadline: float) -> None:
        entries = [_entry(n, each) for n, each in enumerate(handles)]
        self._call(self._client.delete_message_batch, handles, entries, deadline)

    def _call(
        self,
        operation: Callable[..., dict[str, Any]],
        handles: Sequence[Handle],
        entries: Sequence[dict[str, Any]],
        deadline: float,
    ) -> None:
        url = self._urls[handles[0].topic]
        each_entry(lambda some: operation(QueueUrl=url, Entries=some), entries, deadline, GONE)


def _entry(number: int, handle: Handle) -> dict[str, Any]:
    return {"Id": str(number), "ReceiptHandle": handle.handle}


def _by_queue(handles: Sequence[Handle]) -> list[list[Handle]]:
    found: dict[str, list[Handle]] = {}
    for each in handles:
        found.setdefault(each.topic, []).append(each)
    return [
        some[start : start + MOST_ENTRIES]
        for some in found.values()
        for start in range(0, len(some), MOST_ENTRIES)
    ]
