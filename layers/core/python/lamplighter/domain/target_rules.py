"""What no shape can say of a target: which URLs, header names and commands make sense."""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Final
from urllib.parse import urlsplit

import msgspec

from lamplighter.domain.errors import InvalidJob

LONGEST_COMMAND: Final = 64 * 1024  # Linux takes 128 KiB for one argument
LONGEST_URL: Final = 2048
MOST_ENTRIES: Final = 50
LONGEST_VALUE: Final = 8 * 1024

# `reports.nightly`, `my_package.jobs:nightly`
_HANDLER = re.compile(r"[A-Za-z_][\w-]*(\.[A-Za-z_][\w-]*)*(:[A-Za-z_]\w*)?")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
# The sender writes these itself; a second one would confuse whoever reads them.
_OURS = frozenset(
    {"host", "content-length", "transfer-encoding", "connection", "te", "upgrade", "trailer",
     "expect", "keep-alive", "proxy-connection", "idempotency-key"}
)  # fmt: skip
_OUR_PREFIXES = ("webhook-", "lamplighter-")


def check_python(handler: str) -> None:
    if len(handler) > 200 or not _HANDLER.fullmatch(handler):
        raise InvalidJob("target.handler", "give a name like builtin.echo or my_package.jobs:main")


def check_command(command: str, env: Mapping[str, object], cwd: str | None) -> None:
    if not command.strip() or "\0" in command or not 0 < _size(command) <= LONGEST_COMMAND:
        raise InvalidJob("target.command", f"give a line of 1 to {LONGEST_COMMAND:,} bytes, no NUL")
    _check_entries("target.env", env)
    for name, value in env.items():
        if not _VARIABLE.fullmatch(name):
            raise InvalidJob("target.env", f"{name!r} is no name of a variable")
        if name.startswith("LAMPLIGHTER_"):
            raise InvalidJob("target.env", f"rename {name}: LAMPLIGHTER_… is set by the worker")
        if isinstance(value, str) and ("\0" in value or (value and not _size(value))):
            raise InvalidJob(f"target.env.{name}", "leave out NUL characters and lone surrogates")
    if cwd is not None and (not cwd.startswith("/") or "\0" in cwd):
        raise InvalidJob("target.cwd", "give an absolute path, or leave it out for an empty folder")


def check_http(url: str, headers: Mapping[str, object]) -> None:
    _check_url(url)
    _check_entries("target.headers", headers)
    if len({name.lower() for name in headers}) < len(headers):
        raise InvalidJob("target.headers", "name each header once; case makes no difference")
    for name, value in headers.items():
        if not _HEADER.fullmatch(name):
            raise InvalidJob("target.headers", f"{name!r} is no name of a header")
        if name.lower() in _OURS or name.lower().startswith(_OUR_PREFIXES):
            raise InvalidJob("target.headers", f"leave out {name}: the sender sets it")
        # The value stays out of the message: it may be a credential.
        if isinstance(value, str) and not is_header_value(value):
            raise InvalidJob(f"target.headers.{name}", "give visible ASCII characters and spaces")


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        sound = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number, a bracket that is not closed
        sound = False
    else:
        if parts.username is not None or parts.password is not None:
            raise InvalidJob(
                "target.url", "leave user and password out; use a header with a secret"
            )
    if not sound or len(url) > LONGEST_URL or not _is_printable_ascii(url) or " " in url:
        raise InvalidJob(
            "target.url",
            f"give an http:// or https:// URL, ASCII, up to {LONGEST_URL:,} characters",
        )


def check_aws(spec: msgspec.Struct) -> None:
    """Names and ARNs are AWS's affair; what is empty or has blanks can never be one."""
    for field in spec.__struct_fields__:
        value = getattr(spec, field)
        if field in {"detail_type", "subject", "attributes", "command"} or not value:
            if value == "":
                raise InvalidJob(f"target.{field}", "give a value, or leave it out")
            continue
        if not all(_is_name(each) for each in _texts(value)):
            raise InvalidJob(f"target.{field}", "give a name or ARN without blanks")
    url = getattr(spec, "queue_url", None)
    if url is not None:
        _check_queue_url(url)


def check_network(subnets: Iterable[str], ours: Collection[str]) -> None:
    """A task in one of ours would reach what asks nobody for a password.

    Security groups need no such check: AWS takes those of the subnets' own network alone.
    """
    for subnet in subnets:
        # ECS asks for ids as EC2 writes them. Whether it takes an ARN or capitals, it does not say.
        if subnet.lower().rpartition("/")[2] in ours:
            raise InvalidJob(
                "target.subnets",
                f"{subnet} is in the scheduler's own network; use subnets of a network of your own",
            )


def _check_queue_url(url: str) -> None:
    if not url.startswith(("https://", "http://")):
        raise InvalidJob(
            "target.queue_url", "give the queue's URL, as `aws sqs get-queue-url` does"
        )


def _texts(value: object) -> Iterable[str]:
    if isinstance(value, str):
        return (value,)
    return value if isinstance(value, tuple) else ()


def _is_name(text: str) -> bool:
    return bool(text) and len(text) <= LONGEST_URL and _is_printable_ascii(text) and " " not in text


def _check_entries(field: str, entries: Mapping[str, object]) -> None:
    if len(entries) > MOST_ENTRIES:
        raise InvalidJob(field, f"give {MOST_ENTRIES} entries at most")
    for name, value in entries.items():
        if len(name) > 256 or (isinstance(value, str) and len(value) > LONGEST_VALUE):
            raise InvalidJob(field, f"an entry is too long; values have {LONGEST_VALUE:,} at most")


def _size(text: str) -> int:
    """In bytes; 0 for a text that has none, such as half a surrogate pair."""
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        return 0


def is_header_value(value: str) -> bool:
    return all(character == "\t" or " " <= character <= "~" for character in value)


def _is_printable_ascii(text: str) -> bool:
    return text.isascii() and text.isprintable()
