"""A Kafka cluster's id is random; whatever it begins with, the broker is formatted with it."""

import uuid
from base64 import urlsafe_b64decode
from pathlib import Path

import pytest

from infra.local.kafka.server import Kafka

BEGINS_WITH_A_DASH = uuid.UUID(bytes=urlsafe_b64decode("-" + "A" * 21 + "=="))


@pytest.mark.kafka
def test_an_id_that_begins_with_a_dash_is_not_read_as_an_option(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("infra.local.kafka.server.uuid.uuid4", lambda: BEGINS_WITH_A_DASH)

    with Kafka(folder) as broker:
        assert broker.running()
