"""What Lambda gives a handler beside its event."""

import time
from uuid import uuid4


class Context:
    """One invocation: who it is, and how long it still has."""

    def __init__(self, function: str, seconds: float = 900.0) -> None:
        self.function_name = function
        self.aws_request_id = str(uuid4())
        self._end = time.monotonic() + seconds

    def get_remaining_time_in_millis(self) -> int:
        return max(0, round((self._end - time.monotonic()) * 1000))
