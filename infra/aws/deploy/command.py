"""`lamplighter deploy`. Registered in pyproject.toml: the command line need not know infra."""

import os
import shlex
import subprocess
from collections.abc import Sequence
from typing import Final

import boto3
import click

from infra.aws import assets, options
from infra.aws.brought import Unusable
from infra.aws.deploy import after, authorities, cdk, checks
from infra.aws.profiles import PROFILES

OUT: Final = assets.ROOT / "cdk.out"


@click.command()
@click.option(
    "--profile",
    type=click.Choice(list(PROFILES)),
    default="small",
    show_default=True,
    help="How large.",
)
@click.option(
    "--context",
    "-c",
    metavar="NAME=VALUE",
    multiple=True,
    help="A choice of docs/deploy.md. May be repeated.",
)
@click.option(
    "--authorities",
    "given_authorities",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help="Whose certificates the database may show, in PEM; else RDS's own are fetched.",
)
@click.option("--yes", is_flag=True, help="Do not ask before roles and doors are opened.")
@click.option("--dry-run", is_flag=True, help="Check, and print the command; change nothing.")
def deploy(
    profile: str, context: Sequence[str], *, given_authorities: str | None, yes: bool, dry_run: bool
) -> None:
    """Deploy into the AWS account that your credentials are for."""
    given = {"profile": profile} | dict(_pair(each) for each in context)
    if given_authorities:
        given["database_authorities"] = given_authorities
    chosen = _chosen(given)
    given |= _paths(chosen)
    findings = _check(chosen)
    if chosen.authorities is None:
        finding = _bring_authorities(given, chosen.region)
        click.echo(finding.line)
        findings.append(finding)
    outputs = OUT / f"{chosen.stack_name}.outputs.json"
    command = cdk.deploy_command(chosen.stack_name, given, outputs, approved=yes)
    click.echo(f"  {shlex.join(command)}")
    if missing := [each for each in findings if each.missing]:
        raise click.ClickException(f"{len(missing)} of these are missing; nothing was done.")
    if dry_run:
        return
    outputs.unlink(missing_ok=True)  # of a deployment before
    _run(command, chosen.region)
    for line in after.lines(chosen, after.read(outputs, chosen.stack_name)):
        click.echo(line)


def _chosen(given: dict[str, str]) -> options.Options:
    try:
        return options.of(given)
    except options.InvalidOption as problem:
        raise click.UsageError(str(problem)) from problem


def _paths(chosen: options.Options) -> dict[str, str]:
    """From the root: the CDK runs in another folder than whoever typed them."""
    found = {"database_authorities": chosen.authorities, "handlers": chosen.handlers}
    return {name: str(path) for name, path in found.items() if path}


def _bring_authorities(given: dict[str, str], region: str) -> checks.Finding:
    """Into `given`. Whoever deploys by this command has a database that is verified."""
    what = "RDS's authorities"
    try:
        given["database_authorities"] = str(authorities.fetched(region))
    except Unusable as problem:
        return checks.Finding(what, f"{problem}, and give --authorities FILE")
    return checks.Finding(f"{what}, in {given['database_authorities']}")


def _pair(text: str) -> tuple[str, str]:
    """A misspelt choice is refused: the CDK would not notice, and take the default."""
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise click.UsageError(f"-c {text}: give NAME=VALUE")
    # The CDK's own have an @ or a colon.
    if name not in (known := choices()) and not {"@", ":"} & set(name):
        raise click.UsageError(f"-c {text}: there are {', '.join(sorted(known))}")
    return name, value


def choices() -> set[str]:
    """Every name that the stack asks for."""
    asked: set[str] = set()
    options.read(asked.add)
    return asked


def _check(chosen: options.Options) -> list[checks.Finding]:
    """Each is shown as soon as it is known: some ask over the network."""
    found = []
    for finding in checks.check(chosen, boto3.Session()):
        click.echo(finding.line)
        found.append(finding)
    return found


def _run(command: Sequence[str], region: str) -> None:
    """The CDK talks to the terminal itself: it may ask, and it shows what is going on."""
    done = subprocess.run(
        command, cwd=assets.ROOT, env=os.environ | {"AWS_REGION": region}, check=False
    )  # fmt: skip
    if done.returncode:
        raise click.ClickException(
            f"the CDK ended with {done.returncode}. What was made stays; see the end of "
            "docs/deploy.md for what to do about a deployment that failed."
        )
