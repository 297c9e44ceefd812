"""Who the peers are: what each needs, how it is started, and how one sees that it has finished."""

from typing import Final, Literal, NamedTuple

Store = Literal["postgres", "valkey"]
Kind = Literal["python", "go", "node"]


class Peer(NamedTuple):
    """`left` tells how many jobs have not ended: SQL, or commands of Valkey whose answers add up.

    `most`: a herd beyond it would take minutes, and say nothing else. `batches`: it has a way to
    submit many jobs at once.
    """

    name: str
    title: str
    kind: Kind
    store: Store
    left: str
    note: str
    workers: int = 2
    most: int = 1_000_000
    batches: bool = True


PEERS: Final = {
    peer.name: peer
    for peer in (
        Peer(
            "celery", "Celery", "python", "valkey", "llen celery, hlen unacked",
            "results kept", most=10_000, batches=False,
        ),
        Peer(
            "procrastinate", "procrastinate", "python", "postgres",
            "SELECT count(*) FROM procrastinate_jobs WHERE status <> 'succeeded'",
            "jobs and events kept", most=5_000,
        ),
        Peer(
            "pgqueuer", "PgQueuer", "python", "postgres",
            "SELECT count(*) FROM pgqueuer",
            "moved to its log",
        ),
        Peer(
            "apscheduler", "APScheduler", "python", "postgres",
            "SELECT count(*) FROM apscheduler_jobs",
            "at most once, nothing kept", workers=1, most=5_000, batches=False,
        ),
        Peer(
            "river", "River", "go", "postgres",
            "SELECT count(*) FROM river_job WHERE state <> 'completed'",
            "history kept", workers=1,
        ),
        Peer(
            "bullmq", "BullMQ", "node", "valkey",
            "llen bull:bench:wait, llen bull:bench:active, zcard bull:bench:delayed,"
            " zcard bull:bench:prioritized",
            "finished jobs kept", workers=1,
        ),
    )
}  # fmt: skip
