"""Apache Kafka in KRaft mode: one node, one Java process."""

import os
import shutil
import socket
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from infra.local.child import Command
from infra.local.errors import ServiceFailed
from infra.local.folder import write_private
from infra.local.kafka.config import LOG4J2, properties
from infra.local.kafka.jars import jars
from infra.local.service import HOST, Service, free_port
from infra.local.tools import JAVA, missing

HEAP: Final = "512m"
# Half the processor time until ready. The second compiler takes as much as the rest of the broker
# while it learns, for a minute and more, and gains little where every request is a system call.
QUICK_JVM: Final = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


class Kafka(Service):
    """A broker that is its own controller. Its `url` is the bootstrap address, host:port."""

    name: ClassVar[str] = "kafka"
    # About 7 s where nothing else runs, and this is the first service to suffer where much does.
    start_seconds: ClassVar[float] = 90.0

    def __init__(
        self,
        folder: Path,
        *,
        settings: Mapping[str, str] | None = None,
        port: int = 0,
    ) -> None:
        super().__init__(folder, port=port)
        self.settings = dict(settings or {})
        self._data = self.folder / "data"
        self._properties = self.folder / "server.properties"
        self._log4j2 = self.folder / "log4j2.yaml"
        self._formatted = self.folder / "formatted"

    @property
    def url(self) -> str:
        """What clients call bootstrap.servers."""
        return f"{HOST}:{self.port}"

    @property
    def shown_url(self) -> str:
        """The same: it has no scheme and no password."""
        return self.url

    def prepare(self) -> None:
        """Write the configuration, and format the data folder at first start."""
        if tools := missing([JAVA]):
            raise ServiceFailed(tools[0].advice)
        write_private(self._properties, self._configuration())
        write_private(self._log4j2, LOG4J2)
        if not self._formatted.exists():
            self._format()

    def command(self) -> Command:
        """The broker. SIGTERM lets it close its segments, so that the next start is quick."""
        return self._java([f"-Xmx{HEAP}", *QUICK_JVM], "kafka.Kafka", str(self._properties))

    def ready(self) -> bool:
        """It lists its topics. The socket is tried first: the client library retries noisily."""
        try:
            socket.create_connection((HOST, self.port), timeout=1).close()
            AdminClient({"bootstrap.servers": self.url, "log_level": 0}).list_topics(timeout=2)
        except (OSError, KafkaException):
            return False
        return True

    def _configuration(self) -> str:
        return properties(
            broker_port=self.port,
            controller_port=free_port(),
            data=self._data,
            settings=self.settings,
        )

    def _format(self) -> None:
        # A folder without the mark was left by a crash in mid-format, and holds nothing of value.
        shutil.rmtree(self._data, ignore_errors=True)
        cluster = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        # As one word: an id may begin with a dash, which alone would be read as an option.
        arguments = ["format", f"--cluster-id={cluster}", "--config", str(self._properties)]
        self.run(self._java(["-Xmx64m", *QUICK_JVM], "kafka.tools.StorageTool", *arguments))
        self._formatted.touch()

    def _java(self, jvm: Sequence[str], main_class: str, *arguments: str) -> Command:
        java = shutil.which("java") or JAVA.program
        options = [*jvm, f"-Dlog4j2.configurationFile={self._log4j2}"]
        classes = ["-cp", f"{jars()}{os.sep}*"]
        environment = {
            name: os.environ[name] for name in ("PATH", "JAVA_HOME") if name in os.environ
        }
        return Command([java, *options, *classes, main_class, *arguments], environment)
