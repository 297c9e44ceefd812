"""Courier: takes requests out of a network without a way out. Beside a job's way, for the executor.

It lives outside the network, knows no secret and reaches nothing of ours.
"""

from typing import Any, Final

from lamplighter import wiring
from lamplighter.contracts.courier import answer_of, batch_of
from lamplighter.stages.deliver import deliver

# Of the time that Lambda gives: to tell of those that got no answer.
_MARGIN_SECONDS: Final = 3.0


@wiring.invoked
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """A batch of requests in, what became of each out, in their order."""
    left = context.get_remaining_time_in_millis() / 1000 - _MARGIN_SECONDS
    return answer_of(deliver(batch_of(event).requests, wiring.messenger().send_alone, left))
