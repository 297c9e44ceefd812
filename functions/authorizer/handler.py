"""Authorizer: says to API Gateway whose key this is. Before submit and query, at every request.

Of all functions with a way to the keys it is the one that knows them: `lamplighter keys --function`
tells it which to make and revoke. The gateway cannot, and IAM says who else may.
"""

from typing import Any

from lamplighter import wiring
from lamplighter.contracts.authorizer import answer_of, presented
from lamplighter.contracts.keyring import KEYS, answer_of_order, order_of


@wiring.invoked
def handler(event: dict[str, Any], context: object) -> dict[str, Any]:  # noqa: ARG001 - Lambda's
    """A request in, whether it may go on and for whom out. Raises where nobody can tell: a 500."""
    if KEYS in event:
        return answer_of_order(wiring.keyring().obey(order_of(event)))
    return answer_of(wiring.authorizer().who(presented(event)))
