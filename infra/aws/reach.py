"""What a deployment can reach: without NAT, its own region, through endpoints.

A call to another region would neither fail nor arrive, but wait for its timeout, run after run.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from infra.aws.options import Options

_CERTIFICATE: Final = re.compile(r"arn:aws[a-z-]*:acm:[a-z0-9-]+:\d+:certificate/.+")


class Unreachable(Exception):
    """Something was named where nobody who needs it could get to it."""


def check(options: "Options") -> None:
    """Raises Unreachable, with the option and what to say instead."""
    _check_certificate(options)
    _check_secrets(options)
    if not options.nat:
        _check_from_inside(options)
    if not (options.nat or options.profile.tasks.public):
        _check_from_tasks(options)


def _check_certificate(options: "Options") -> None:
    """API Gateway takes none from elsewhere, whatever the network."""
    named = options.certificate
    if named and not (_CERTIFICATE.fullmatch(named) and _region(named) == options.region):
        raise Unreachable(
            f"certificate={named}: give the ARN of one in ACM in {options.region}, where the API is"
        )


def _check_secrets(options: "Options") -> None:
    for name, secret in _secrets(options):
        if not options.profile.network.secrets:
            raise Unreachable(
                f"secrets=false and {name}={secret}: nobody could read it; leave out one of the two"
            )


def _check_from_inside(options: "Options") -> None:
    """Functions are inside, always, and the recorder is among those who need these secrets."""
    for name, secret in _secrets(options):
        if _is_far(secret, options):
            raise Unreachable(
                f"{name}={secret}: without nat=true only {options.region} is reached; keep it there"
            )


def _check_from_tasks(options: "Options") -> None:
    """Tasks in public subnets get anywhere, and jobs for them can name their pool."""
    for arn in options.targets:
        if _is_far(arn, options):
            raise Unreachable(
                f"targets: {arn}: without nat=true only {options.region} is reached; say so, or"
                " name one there"
            )
    image = options.image
    if image and image.region != options.region:
        raise Unreachable(
            f"image: it is in {image.region}, and without nat=true tasks fetch theirs from"
            f" {options.region} alone; say so, or copy it there"
        )


def _secrets(options: "Options") -> Iterator[tuple[str, str]]:
    for name in ("webhook_secret", "pagerduty_secret"):
        if secret := getattr(options, name):
            yield name, secret


def _is_far(arn: str, options: "Options") -> bool:
    """A role has no region, a secret's name none either, and a pattern may mean this one."""
    region = _region(arn)
    return bool(region) and not set("*?") & set(region) and region != options.region


def _region(arn: str) -> str:
    parts = arn.split(":")
    return parts[3] if parts[0] == "arn" and len(parts) > 5 else ""
