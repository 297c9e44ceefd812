"""Named queries: every statement lives in `sql/`, with its purpose above it."""

import re
from functools import cache
from importlib.resources import files

from lamplighter.adapters.postgres.codec import JOB_COLUMNS, RUN_COLUMNS

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


@cache
def queries(file: str) -> dict[str, bytes]:
    """The statements of `sql/<file>.sql` by name, without their comments."""
    text = (files(__package__) / "sql" / f"{file}.sql").read_text(encoding="utf-8")
    parts = _NAME.split(text)[1:]
    names, bodies = parts[::2], parts[1::2]
    if len(set(names)) != len(names):
        raise ValueError(f"sql/{file}.sql names a query twice")
    return {name: _bare(body).encode() for name, body in zip(names, bodies, strict=True)}


def _bare(body: str) -> str:
    lines = (line for line in body.splitlines() if not line.lstrip().startswith("--"))
    bare = "\n".join(lines).strip().rstrip(";")
    # Two lists of columns that the codec reads by position; everything else stands in the file.
    return bare.replace("{run_columns}", RUN_COLUMNS).replace("{job_columns}", JOB_COLUMNS)
