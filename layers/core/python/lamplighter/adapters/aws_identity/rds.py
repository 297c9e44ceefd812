"""A database that takes a token of IAM where others have a password (RDS, Aurora)."""

from collections.abc import Callable
from typing import Final

import botocore.session
from botocore.awsrequest import prepare_request_dict
from botocore.exceptions import BotoCoreError, NoCredentialsError
from botocore.model import ServiceId
from botocore.signers import RequestSigner
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from lamplighter.domain.errors import LedgerUnavailable
from lamplighter.settings import InvalidSettings

# Host, port and user in, a token out.
Sign = Callable[[str, int, str], str]

TOKEN_SECONDS: Final = 900
_SERVICE: Final = "rds-db"
# Whoever reads the token along the way may use it: never in the clear, whatever the server says.
_ENCRYPTED: Final = ("require", "verify-ca", "verify-full")


class RdsAddress:
    """A URL without a password; with a fresh token each time that it is asked for.

    The server's certificate must be of that name, and vouched for: by the file that the URL names
    (`sslrootcert`), else by the system. A URL that asks for less (`sslmode=require`) gets less.
    """

    def __init__(self, url: str, *, sign: Sign) -> None:
        given = {name: str(value) for name, value in conninfo_to_dict(url).items()}
        if not (given.get("host") and given.get("user")):
            raise InvalidSettings(
                "LAMPLIGHTER_DATABASE_URL needs a host and a user where LAMPLIGHTER_DATABASE_IAM"
                " is set: the token is made for them."
            )
        self._given = _encrypted(given)
        self._sign = sign

    def __call__(self) -> str:
        given = self._given
        token = self._sign(given["host"], int(given.get("port", 5432)), given["user"])
        return make_conninfo(**given | {"password": token})


class RdsTokens:
    """Signs as boto3's `generate_db_auth_token` does, without reading all that RDS can do.

    That alone takes 0.2 s of a cold start. Nothing is sent: a token is a request never made.
    """

    def __init__(self, region: str) -> None:
        self._region = region
        self._session = botocore.session.Session()

    def __call__(self, host: str, port: int, user: str) -> str:
        try:
            return self._signed(host, port, user)
        except BotoCoreError as problem:
            raise LedgerUnavailable(f"no token for the database: {problem}") from problem

    def _signed(self, host: str, port: int, user: str) -> str:
        parts = {"Action": "connect", "DBUser": user}
        request = {
            "url_path": "/", "query_string": "", "headers": {}, "body": parts, "method": "GET",
        }  # fmt: skip
        prepare_request_dict(request, f"https://{host}:{port}")
        url: str = self._signer().generate_presigned_url(
            request,
            operation_name="connect",
            region_name=self._region,
            expires_in=TOKEN_SECONDS,
            signing_name=_SERVICE,
        )
        return url.removeprefix("https://")

    def _signer(self) -> RequestSigner:
        """For one token: the session renews its credentials, where those end."""
        session = self._session
        emitter = session.get_component("event_emitter")
        credentials = session.get_credentials()
        if credentials is None:
            raise NoCredentialsError
        return RequestSigner(ServiceId("RDS"), self._region, _SERVICE, "v4", credentials, emitter)


def _encrypted(given: dict[str, str]) -> dict[str, str]:
    mode = given.get("sslmode", "verify-full")
    if mode not in _ENCRYPTED:
        raise InvalidSettings(
            f"LAMPLIGHTER_DATABASE_URL: sslmode={mode} would send a token in the clear;"
            f" say one of {', '.join(_ENCRYPTED)}, or nothing."
        )
    asked = {"sslmode": mode}
    if mode == "verify-full":
        asked["sslrootcert"] = given.get("sslrootcert", "system")
    return given | asked
