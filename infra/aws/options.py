"""What the deployer chooses, by context (`-c name=value`): read once, refused in plain words."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from infra.aws import brought, reach
from infra.aws.profiles import PROFILES, Profile, with_tasks_at_rest
from infra.aws.targets import MOST_CHARACTERS, characters, is_cluster, service

AUTHS: Final = ("iam", "jwt", "api-key")
_CELL: Final = re.compile(r"[a-z][a-z0-9-]{0,23}")
_ZONE: Final = re.compile(r"[a-z]{2}(-[a-z]+)+-\d[a-z]")
_PRIVATE_IMAGE: Final = re.compile(
    r"(?P<account>\d{12})\.dkr\.ecr\.(?P<region>[a-z0-9-]+)\.amazonaws\.com(\.cn)?/"
    r"(?P<name>[a-z0-9._/-]+)(:(?P<tag>[\w.-]+)|@(?P<digest>sha256:[0-9a-f]{64}))"
)
# Where MSK does not exist, and neither do several other things.
_POOR_ZONES: Final = {"us-east-1e"}
# What jobs may call. `ecs` takes the task's definition, its cluster, and the roles that it has.
_TARGET: Final = re.compile(r"arn:aws[a-z-]*:(lambda|sqs|sns|events|states|ecs|iam):[^:]*:\d+:.+")


class InvalidOption(Exception):
    """A context value that cannot work. Says what would."""


@dataclass(frozen=True)
class Image:
    """A container image in a private ECR repository."""

    account: str
    region: str
    name: str
    # A tag, or a digest with its `sha256:`.
    version: str


@dataclass(frozen=True)
class Options:
    """One deployment's choices. `targets` are ARNs that jobs may address; none unless named."""

    profile: Profile
    cell: str = "lamplighter"
    auth: str = "iam"
    jwt_issuer: str | None = None
    jwt_audience: tuple[str, ...] = ()
    # Whose jobs a token is about; the settings have a default.
    jwt_tenant_claim: str | None = None
    # Whose a token without it is; none: it is refused.
    jwt_default_tenant: str | None = None
    zones: tuple[str, ...] = ("us-east-1a", "us-east-1b", "us-east-1c")
    nat: bool = False
    domain: str | None = None
    certificate: str | None = None
    alarm_email: str | None = None
    image: Image | None = None
    targets: tuple[str, ...] = ()
    webhook_secret: str | None = None
    pagerduty_secret: str | None = None
    # Whether jobs may run commands on tasks, which can do what the scheduler can.
    commands: bool = False
    # Whose certificates the database may show; none: whoever answers at its address is believed.
    authorities: Path | None = None
    # A folder with the deployer's own Python, and the modules in it that have handlers.
    handlers: Path | None = None
    handler_modules: tuple[str, ...] = ()

    @property
    def region(self) -> str:
        return self.zones[0][:-1]

    @property
    def stack_name(self) -> str:
        return self.cell if self.cell.startswith("lamplighter") else f"lamplighter-{self.cell}"


Ask = Callable[[str], Any]


def read(ask: Ask) -> Options:
    """Every name that is understood is in this function; `infra/aws/README.md` explains them."""
    options = Options(
        profile=_profile(ask),
        cell=str(ask("cell") or Options.cell),
        auth=str(ask("auth") or Options.auth),
        jwt_issuer=ask("issuer"),
        jwt_audience=_list(ask("audience")),
        jwt_tenant_claim=ask("tenant_claim"),
        jwt_default_tenant=ask("default_tenant"),
        zones=_list(ask("zones")) or Options.zones,
        nat=_flag("nat", ask("nat"), default=False),
        domain=ask("domain"),
        certificate=ask("certificate"),
        alarm_email=ask("alarm_email"),
        image=_image(ask("image")),
        targets=_list(ask("targets")),
        webhook_secret=ask("webhook_secret"),
        pagerduty_secret=ask("pagerduty_secret"),
        commands=_flag("commands", ask("commands"), default=False),
        authorities=_path(ask("database_authorities")),
        handlers=_path(ask("handlers")),
        handler_modules=_list(ask("handler_modules")),
    )
    _check(options)
    return options


def of(values: Mapping[str, Any]) -> Options:
    """From a table instead of the context."""
    return read(values.get)


def _profile(ask: Ask) -> Profile:
    name = str(ask("profile") or "small")
    if name not in PROFILES:
        raise InvalidOption(f"profile={name}: there are {', '.join(PROFILES)}")
    found = PROFILES[name]
    found = replace(found, protected=_flag("protect", ask("protect"), default=found.protected))
    wants_secrets = bool(ask("webhook_secret") or ask("pagerduty_secret"))
    secrets = _flag("secrets", ask("secrets"), default=found.network.secrets or wants_secrets)
    found = replace(found, network=replace(found.network, secrets=secrets))
    if (one_in := ask("trace_one_in")) is not None:
        found = replace(found, trace_one_in=_number("trace_one_in", one_in, 1_000_000))
    at_rest = ask("tasks_at_rest")
    if at_rest is None:
        return found
    return with_tasks_at_rest(found, _number("tasks_at_rest", at_rest, found.tasks.most))


def _number(name: str, text: Any, most: int) -> int:
    if not str(text).isdigit() or int(text) > most:
        raise InvalidOption(f"{name}={text}: a number from 0 to {most}")
    return int(text)


def _list(value: Any) -> tuple[str, ...]:
    if not value:
        return ()
    parts = value if isinstance(value, list) else str(value).split(",")
    return tuple(str(part).strip() for part in parts)


def _flag(name: str, value: Any, *, default: bool) -> bool:
    if value is None:
        return default
    if str(value).lower() not in {"true", "false"}:
        raise InvalidOption(f"{name}={value}: true or false")
    return str(value).lower() == "true"


def _image(uri: str | None) -> Image | None:
    """Isolated subnets reach no public registry, so only a private repository will do."""
    if uri is None:
        return None
    found = _PRIVATE_IMAGE.fullmatch(uri)
    if not found:
        raise InvalidOption(
            f"image={uri}: name one in private ECR, with its tag or digest:"
            " <account>.dkr.ecr.<region>.amazonaws.com/<name>:<tag>"
        )
    return Image(found["account"], found["region"], found["name"], found["tag"] or found["digest"])


def _path(text: str | None) -> Path | None:
    return Path(text).resolve() if text else None


def _check_brought(options: Options) -> None:
    if bool(options.handlers) != bool(options.handler_modules):
        raise InvalidOption("handlers=FOLDER and handler_modules=one,two.three go together")
    try:
        if options.authorities:
            brought.check_authorities(options.authorities)
        if options.handlers:
            brought.check_handlers(options.handlers, options.handler_modules)
    except brought.Unusable as problem:
        raise InvalidOption(str(problem)) from None


def _check(options: Options) -> None:
    if options.auth not in AUTHS:
        raise InvalidOption(f"auth={options.auth}: {', '.join(AUTHS)}; the API is never open")
    if options.auth == "jwt" and not (options.jwt_issuer and options.jwt_audience):
        raise InvalidOption("auth=jwt needs issuer=https://… and audience=…")
    if not _CELL.fullmatch(options.cell):
        raise InvalidOption(f"cell={options.cell}: lower case, digits and -, 24 at most")
    if bool(options.domain) != bool(options.certificate):
        raise InvalidOption("domain and certificate (its ARN in ACM, same region) go together")
    _check_zones(options.zones)
    _check_brought(options)
    _check_targets(options.targets)
    try:
        reach.check(options)
    except reach.Unreachable as problem:
        raise InvalidOption(str(problem)) from None


def _check_targets(targets: tuple[str, ...]) -> None:
    for arn in targets:
        if not _TARGET.fullmatch(arn):
            raise InvalidOption(
                f"targets: {arn} is no ARN of Lambda, SQS, SNS, EventBridge, Step Functions, ECS,"
                " or of a role that a task of ECS has"
            )
    tasks = [arn for arn in targets if service(arn) == "ecs" and not is_cluster(arn)]
    if tasks and not any(map(is_cluster, targets)):
        raise InvalidOption(
            f"targets: {tasks[0]} runs in no cluster; name it as well, as arn:aws:ecs:…:cluster/…"
        )
    if (length := characters(targets)) > MOST_CHARACTERS:
        raise InvalidOption(
            f"targets: these make {length:,} characters of policies, and a role takes"
            f" {MOST_CHARACTERS:,} of them; name many by one ARN, as arn:aws:sqs:…:orders-*, or"
            " leave some to another cell"
        )


def _check_zones(zones: tuple[str, ...]) -> None:
    if len(set(zones)) != 3 or not all(map(_ZONE.fullmatch, zones)):
        raise InvalidOption(f"zones={','.join(zones)}: name three availability zones")
    if len({zone[:-1] for zone in zones}) != 1:
        raise InvalidOption(f"zones={','.join(zones)}: all three in one region")
    if poor := _POOR_ZONES.intersection(zones):
        raise InvalidOption(f"zones: {', '.join(poor)} has no MSK; choose another")
