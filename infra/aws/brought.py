"""What a deployer brings along, and functions and tasks find under /opt: checked before it is used.

Plain Python: nothing of the CDK is needed to know it.
"""

import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import Final

# Its name under /opt, and so in the database's URL.
AUTHORITIES: Final = "authorities.pem"
# Names that are ours: a package of the same name would hide one of the two.
_TAKEN: Final = frozenset({"lamplighter", "functions"})


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
        context.load_verify_locations(cadata=data.decode("ascii", "ignore"))
    except (ssl.SSLError, ValueError):
        raise Unusable(f"{path} has no certificates in PEM, or broken ones") from None
    if not context.cert_store_stats()["x509_ca"]:
        raise Unusable(f"{path} has no certificate of an authority")


def handler_files(folder: Path) -> dict[str, Path]:
    """All that is in it, as it will lie under /opt: on Python's path, there as here."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    inside = ((path, path.relative_to(folder)) for path in found)
    return {f"python/{at.as_posix()}": path for path, at in inside if not _left_out(at)}


def check_handlers(folder: Path, modules: Sequence[str]) -> None:
    """A folder that has these modules in it, under the names that jobs will call them by."""
    if not folder.is_dir():
        raise Unusable(f"{folder} is no folder")
    if (folder / "__init__.py").exists():
        raise Unusable(f"{folder} is a package itself; name the folder that it is in")
    if taken := sorted(name for name in _TAKEN if (folder / name).exists()):
        raise Unusable(f"{folder} has a {taken[0]}, which is a name of ours; give it another")
    for module in modules:
        at = folder.joinpath(*module.split("."))
        if not (at.with_suffix(".py").is_file() or at.is_dir()):
            raise Unusable(f"{folder} has no module {module}")


def _left_out(at: Path) -> bool:
    """Bytecode of another Python, and what is hidden: .git, .venv."""
    return any(part == "__pycache__" or part.startswith(".") for part in at.parts)
