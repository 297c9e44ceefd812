"""Postgres, Valkey and where logs are kept."""

from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

import msgspec

from lamplighter.ports.logs import Logs
from lamplighter.ports.queue import QueueUnavailable
from lamplighter.stages.clock import LedgerClock
from lamplighter.wiring.around import clients, region, required, settings
from lamplighter.wiring.once import at_the_end, once
from lamplighter.wiring.vault import kept_secrets

if TYPE_CHECKING:
    from lamplighter.adapters.postgres.address import Address
    from lamplighter.adapters.postgres.api_keys import PostgresApiKeys
    from lamplighter.adapters.postgres.database import Habits
    from lamplighter.adapters.postgres.listing import PostgresQueryLedger
    from lamplighter.adapters.valkey.cache import ValkeyCache
    from lamplighter.adapters.valkey.client import Client
    from lamplighter.adapters.valkey.leases import ValkeyLeases
    from lamplighter.adapters.valkey.queue import ValkeyQueue
    from lamplighter.adapters.valkey.rest import ValkeyRest


@once
def ledger() -> "PostgresQueryLedger":
    from lamplighter.adapters.postgres.database import Bounds
    from lamplighter.adapters.postgres.listing import PostgresQueryLedger

    given = settings()
    bounds = Bounds(
        given.statement_timeout_ms, given.lock_timeout_ms, given.idle_in_transaction_timeout_ms
    )
    made = PostgresQueryLedger(
        database(),
        max_size=given.pool_max_size,
        bounds=bounds,
        habits=_habits(),
    )
    if given.thrifty:
        at_the_end(lambda: _leave(made))
    return made


def _habits() -> "Habits | None":
    from lamplighter.adapters.postgres.database import THRIFTY

    return THRIFTY if settings().thrifty else None


def _leave(ledger: "PostgresQueryLedger") -> None:
    """A frozen process closes nothing, and whoever was there may have left something to do."""
    if ledger.let_go():
        with suppress(QueueUnavailable):
            rest().end()


def database() -> "Address":
    """The ledger's."""
    return address(required("LAMPLIGHTER_DATABASE_URL", settings().database_url))


def admin_database(secret_id: str | None) -> "Address":
    """The same, as who may make tables and roles: user and password are a secret of RDS's own."""
    if secret_id is None:
        return database()
    given = msgspec.json.decode(kept_secrets().value(secret_id), type=dict[str, Any])
    url = urlsplit(required("LAMPLIGHTER_DATABASE_URL", settings().database_url))
    who = f"{quote(given['username'], safe='')}:{quote(given['password'], safe='')}"
    return url._replace(netloc=f"{who}@{url.netloc.rpartition('@')[2]}").geturl()


def address(url: str) -> "Address":
    """As it stands; or without a password, where IAM makes one for every connection."""
    if not settings().database_iam:
        return url
    from lamplighter.adapters.aws_identity.rds import RdsAddress, RdsTokens

    return RdsAddress(url, sign=RdsTokens(region()))


@once
def clock() -> LedgerClock:
    return LedgerClock(ledger().now, slow=slow())


def slow() -> timedelta:
    """Who connects anew at every call, perhaps to a database that has to resume, sees to it."""
    return timedelta(milliseconds=20) if settings().thrifty else timedelta.max


@once
def valkey() -> "Client":
    from lamplighter.adapters.valkey.client import Client

    url = required("LAMPLIGHTER_VALKEY_URL", settings().valkey_url)
    return Client(url, cell=settings().cell)


@once
def queue() -> "ValkeyQueue":
    from lamplighter.adapters.valkey.queue import ValkeyQueue

    return ValkeyQueue(valkey(), shares=settings().class_shares())


@once
def rest() -> "ValkeyRest":
    from lamplighter.adapters.valkey.rest import ValkeyRest

    return ValkeyRest(valkey())


@once
def gate() -> "ValkeyLeases":
    from lamplighter.adapters.valkey.leases import ValkeyLeases

    return ValkeyLeases(valkey())


@once
def cache() -> "ValkeyCache":
    from lamplighter.adapters.valkey.cache import ValkeyCache

    return ValkeyCache(valkey())


@once
def logs() -> Logs:
    if bucket := settings().log_bucket:
        from lamplighter.adapters.logs.s3 import S3Logs

        return S3Logs(bucket, clients())
    from lamplighter.adapters.logs.folder import FolderLogs

    return FolderLogs(Path(settings().data_dir) / "runs")


@once
def api_keys() -> "PostgresApiKeys":
    from lamplighter.adapters.postgres.api_keys import PostgresApiKeys
    from lamplighter.adapters.postgres.database import Database

    made = PostgresApiKeys(Database(database(), max_size=2, habits=_habits()))
    if settings().thrifty:
        at_the_end(made.let_go)
    return made
