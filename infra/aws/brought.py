"""What a deployer brings along, and functions and tasks find under /opt: checked before it is used.

Plain Python: nothing of the CDK is needed to know it.
"""

import ssl
from pathlib import Path
from typing import Final

# Its name under /opt, and so in the database's URL.
AUTHORITIES: Final = "authorities.pem"


class Unusable(Exception):
    """What was brought cannot be used. Says why."""


def check_authorities(path: Path) -> None:
    """Certificates of authorities in PEM, as OpenSSL will read them, and nothing to keep secret."""
    try:
        data = path.read_bytes()
    except OSError as problem:
        raise Unusable(f"{path} cannot be read: {problem.strerror}") from None
    if b"PRIVATE KEY" in data:
        raise Unusable(f"{path} has a private key in it, which nobody else should have")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context.load_verify_locations(cadata=data.decode("ascii"))
    except (ssl.SSLError, ValueError):
        raise Unusable(f"{path} has no certificates in PEM, or broken ones") from None
    if not context.cert_store_stats()["x509_ca"]:
        raise Unusable(f"{path} has no certificate of an authority")
