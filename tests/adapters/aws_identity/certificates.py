"""A certificate for `localhost` that vouches for itself."""

import subprocess
from pathlib import Path


def certify(folder: Path) -> Path:
    """`certificate.pem`, and `key.pem` beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    made = folder / "certificate.pem"
    key = folder / "key.pem"
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    where = ["-keyout", str(key), "-out", str(made), "-days", "2"]
    subprocess.run(["openssl", "req", *kind, *names, *where], check=True, capture_output=True)
    return made
