"""API keys: who may speak to us, and for whom. The key itself is seen once, when it is made."""

import hashlib
import re
import secrets
from datetime import datetime
from enum import StrEnum
from typing import Final
from uuid import UUID

import msgspec

# Recognized by scanners of repositories, and by people who find one.
PREFIX: Final = "lamp_"
_SHAPE: Final = re.compile(r"lamp_[A-Za-z0-9_-]{43}")


class Role(StrEnum):
    """What a key is good for: to look, to submit and change, or for everything."""

    READER = "reader"
    SUBMITTER = "submitter"
    ADMIN = "admin"


class ApiKey(msgspec.Struct, frozen=True, kw_only=True):
    key_id: UUID
    tenant: str
    name: str
    role: Role
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None


def new_key() -> str:
    """256 bits that nobody guesses: a plain hash of them is as safe as a slow one."""
    return PREFIX + secrets.token_urlsafe(32)


def looks_like_key(text: str) -> bool:
    return _SHAPE.fullmatch(text) is not None


def digest(key: str) -> bytes:
    """All of a key that is ever kept."""
    return hashlib.sha256(key.encode()).digest()
