"""How webhooks and alerts of the tests' stacks are signed."""

import base64
import hashlib
import hmac
from collections.abc import Mapping

from tests.e2e.conftest import WEBHOOK_SECRET


def signature(headers: Mapping[str, str], body: bytes) -> str:
    """As Standard Webhooks says."""
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    secret = base64.b64decode(WEBHOOK_SECRET.removeprefix("whsec_"))
    digest = hmac.new(secret, signed, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}"
