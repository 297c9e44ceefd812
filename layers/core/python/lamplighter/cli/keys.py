"""`keys`: who may speak to the API. Needs the database itself, or the function that reaches it."""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

import click

from lamplighter.cli.session import shown_local
from lamplighter.cli.stack import use_stack
from lamplighter.cli.tables import say, say_json, table
from lamplighter.cli.values import Duration
from lamplighter.domain.errors import LamplighterError

if TYPE_CHECKING:
    from lamplighter.contracts.keyring import Order
    from lamplighter.domain.api_key import ApiKey

F = TypeVar("F", bound=Callable[..., Any])
Obey = Callable[["Order"], "list[ApiKey]"]
_HEADS = ("KEY ID", "TENANT", "NAME", "ROLE", "CREATED", "EXPIRES", "REVOKED")


@click.group()
def keys() -> None:
    """Make, list and revoke the API's keys."""


def _with_keyring(command: F) -> F:
    """Add --function and --data; the command gets whoever obeys instead."""

    @click.option("--function", metavar="NAME", help="The authorizer function of a deployment.")
    @click.option("--data", metavar="DIR", help="Data folder of a running stack, to find it in.")
    @wraps(command)
    def with_keyring(*args: Any, function: str | None, data: str | None, **kwargs: Any) -> Any:
        try:
            return command(_keyring(function, data), *args, **kwargs)
        except LamplighterError as problem:
            raise click.ClickException(str(problem)) from problem

    return with_keyring  # type: ignore[return-value]


def _keyring(function: str | None, data: str | None) -> Obey:
    if function:
        from lamplighter.adapters.aws_identity.keyring import RemoteKeyring
        from lamplighter.adapters.targets.aws.clients import Clients

        return RemoteKeyring(function, Clients()).obey
    from lamplighter import wiring

    use_stack(data)
    return wiring.keyring().obey


@keys.command()
@click.argument("name")
@click.option("--tenant", default="default", show_default=True, help="Whose jobs it is for.")
@click.option(
    "--role",
    type=click.Choice(["reader", "submitter", "admin"]),
    default="submitter",
    show_default=True,
    help="A reader only looks.",
)
@click.option("--expires-in", type=Duration(), help="Good for so long; for ever, if left out.")
@_with_keyring
def create(obey: Obey, name: str, tenant: str, role: str, expires_in: float | None) -> None:
    """Make a key and print it, once: only its hash is kept."""
    from lamplighter.contracts.keyring import AddKey
    from lamplighter.domain.api_key import Role, digest, new_key

    key = new_key()
    [made] = obey(AddKey(digest(key), name, tenant, Role(role), expires_in))
    say(key)
    say(f"Key {made.key_id} of tenant {tenant}. It is not shown again.", err=True)


@keys.command("list")
@click.option("--tenant", help="This tenant's only.")
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
@_with_keyring
def list_keys(obey: Obey, tenant: str | None, *, as_json: bool) -> None:
    """List keys, newest first."""
    from lamplighter.contracts.keyring import ListKeys, answer_of_order

    found = obey(ListKeys(tenant))
    if as_json:
        say_json(answer_of_order(found)["keys"])
    else:
        table(_HEADS, [_row(each) for each in found])


@keys.command()
@click.argument("key_id", type=click.UUID)
@_with_keyring
def revoke(obey: Obey, key_id: UUID) -> None:
    """Revoke a key. It opens nothing once the caches have forgotten it."""
    from lamplighter.contracts.keyring import RevokeKey

    obey(RevokeKey(key_id))
    say(f"Key {key_id} is revoked.", err=True)


def _row(key: "ApiKey") -> Sequence[object]:
    times = (_shown(at) for at in (key.created_at, key.expires_at, key.revoked_at))
    return key.key_id, key.tenant, key.name, key.role.value, *times


def _shown(at: datetime | None) -> str | None:
    return None if at is None else shown_local(at.astimezone().replace(microsecond=0))
