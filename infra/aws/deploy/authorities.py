"""RDS's authorities, from RDS: whoever decides whom to trust must be asked, and not this tree."""

import os
import ssl
import urllib.error
import urllib.request
from pathlib import Path
from typing import Final

from infra.aws import assets
from infra.aws.brought import AUTHORITIES, Unusable, check_authorities

# Of all commercial regions, as AWS documents it. Public authorities vouch for the address itself.
URL: Final = "https://truststore.pki.rds.amazonaws.com/global/global-bundle.pem"
KEPT: Final = assets.ROOT / "build" / AUTHORITIES
_ELSEWHERE: Final = ("cn-", "us-gov-", "us-iso")
_SECONDS: Final = 30
_MOST_BYTES: Final = 10_000_000


def fetched(region: str) -> Path:
    """The file, from an earlier time or fetched now. Unusable says what else can be done."""
    if region.startswith(_ELSEWHERE):
        raise Unusable(f"{region} has others than {URL}; fetch them as AWS's pages on RDS say")
    if not KEPT.exists():
        _fetch(URL, KEPT)
    check_authorities(KEPT)
    return KEPT


def _fetch(url: str, kept: Path) -> None:
    """It is there when it was checked, and not before."""
    try:
        with urllib.request.urlopen(url, timeout=_SECONDS) as answer:  # noqa: S310 - a constant
            data = answer.read(_MOST_BYTES)
    except (urllib.error.URLError, ssl.SSLError, TimeoutError, OSError) as problem:
        raise Unusable(f"{url} cannot be fetched ({problem}); fetch it elsewhere") from None
    kept.parent.mkdir(parents=True, exist_ok=True)
    fresh = kept.with_name(f"{kept.name}.{os.getpid()}")
    fresh.write_bytes(data)
    try:
        check_authorities(fresh)
        fresh.replace(kept)
    finally:
        fresh.unlink(missing_ok=True)
