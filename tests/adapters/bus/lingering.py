"""A consumer that takes what it gets and never says a word about it: made to be killed.

`python -m tests.adapters.bus.lingering KIND URL GROUP TOPIC` prints what it was given.
"""

import sys
import time

from tests.adapters.bus.brokers import SHORT_SESSION, connect


def main(kind: str, url: str, group: str, topic: str) -> None:
    consumer = connect(kind, url).consumer(group, [topic], session_seconds=SHORT_SESSION)
    while not (records := consumer.poll(100, 1)):
        pass
    print(*[record.value.decode() for record in records], flush=True)  # noqa: T201
    time.sleep(600)


if __name__ == "__main__":
    main(*sys.argv[1:])
