"""Signatures as the Standard Webhooks specification (1.0) has them."""

import base64
import binascii
import hashlib
import hmac
from typing import Final

_PREFIX: Final = "whsec_"


def signed_headers(
    secret: str | None, message_id: str, timestamp: int, body: bytes
) -> dict[str, str]:
    """Id and time always; the signature where there is a secret to sign with."""
    headers = {"webhook-id": message_id, "webhook-timestamp": str(timestamp)}
    if secret is not None:
        headers["webhook-signature"] = f"v1,{sign(secret, message_id, timestamp, body)}"
    return headers


def sign(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    content = f"{message_id}.{timestamp}.".encode() + body
    digest = hmac.new(_key(secret), content, hashlib.sha256).digest()
    return base64.b64encode(digest).decode()


def _key(secret: str) -> bytes:
    """`whsec_` and base64, as the specification writes secrets; any other text as it stands."""
    if not secret.startswith(_PREFIX):
        return secret.encode()
    try:
        return base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
    except binascii.Error:
        return secret.encode()
