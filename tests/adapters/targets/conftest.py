"""One runner with every target, kept for all tests of a process: its keeper is too."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lamplighter.stages.run import Runner
from tests.adapters.targets.running import KnownSecrets, a_runner

SECRETS = {"token": "s3cr3t-value", "signing": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}


@pytest.fixture(scope="session")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    folder: Path = tmp_path_factory.mktemp("targets")
    made = a_runner(folder, secrets=KnownSecrets(**SECRETS), places=100)
    yield made
    made.close()
