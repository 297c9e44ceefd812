"""Tokens of IAM for MSK, as Kafka's OAUTHBEARER carries them."""

from aws_msk_iam_sasl_signer import MSKAuthTokenProvider  # type: ignore[import-untyped]


class MskTokens:
    """Signs one whenever the library asks: at the start of each client, then every 12 minutes."""

    def __init__(self, region: str) -> None:
        self._region = region

    def __call__(self) -> tuple[str, float]:
        """A token, and the epoch second at which it ends; the signer says milliseconds."""
        token, ends_ms = MSKAuthTokenProvider.generate_auth_token(self._region)
        return token, ends_ms / 1000
