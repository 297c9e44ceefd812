"""Worker: the executor as a long-lived process, for runs of any length: Fargate, or this machine.

`python -m functions.worker.handler`. It reads its pool's topics itself, claims, commits, then runs.
"""

import signal

from lamplighter import wiring
from lamplighter.telemetry.logs import told_in_every_line

# ECS sends SIGKILL 120 s after SIGTERM at most; what has not ended by then is taken back.
GRACE_SECONDS = 100.0


def main(grace_seconds: float = GRACE_SECONDS) -> None:
    """Until SIGTERM: then nothing new begins, and what runs has a while to end."""
    worker = wiring.worker()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: worker.stop())
    with told_in_every_line(function="worker"):
        worker.attend(grace_seconds)
    wiring.presence().stop()
    wiring.flush()


if __name__ == "__main__":
    main()
