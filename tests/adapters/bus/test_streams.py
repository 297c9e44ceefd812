"""What only Valkey Streams has to prove: memory, clusters, a server that forgets."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import valkey

from infra.local.service import free_port
from infra.local.valkey import Valkey
from lamplighter.adapters.streams import keys
from lamplighter.adapters.streams.bus import StreamsBus
from lamplighter.adapters.streams.server import source
from lamplighter.ports.bus import BusUnavailable, Message, Topic
from tests.adapters.bus.brokers import Served
from tests.adapters.bus.play import Play, drain, take, until, values


class ClusterValkey(Valkey):
    """One node of a cluster that owns every slot: it refuses keys that do not belong together."""

    def _configuration(self) -> str:
        cluster = f"cluster-enabled yes\ncluster-port {free_port()}\n"
        return super()._configuration() + cluster


@pytest.fixture
def play(own_valkey: Served) -> Iterator[Play]:
    made = Play(StreamsBus(own_valkey.url))
    yield made
    made.close()
    made.bus.close()


@pytest.fixture
def server(own_valkey: Served) -> Iterator[Any]:
    with valkey.Valkey.from_url(own_valkey.url) as client:
        yield client


def test_it_works_on_a_cluster(folder: Path) -> None:
    with ClusterValkey(folder) as server:
        with valkey.Valkey.from_url(server.url) as client:
            admin: Any = client
            admin.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
            until(lambda: admin.cluster("INFO")["cluster_state"] == "ok", "the cluster is up")
        play = Play(StreamsBus(server.url))
        topics = [play.topic(partitions=3) for _ in range(2)]
        play.bus.publish([Message(topic, b"x", b"%d" % n) for topic in topics for n in range(20)])
        one, two = play.consumer(*topics), play.consumer(*topics)
        seen = 0
        while seen < 40:
            for consumer in (one, two):
                records = consumer.poll(5, 0.05)
                consumer.commit(records)
                seen += len(records)
        assert sum(play.lag(topic) for topic in topics) == 0
        play.close()
        play.bus.close()


def test_what_all_groups_are_done_with_takes_no_memory(play: Play, server: Any) -> None:
    topic = play.topic()
    fast, slow = play.consumer(topic, group="fast"), play.consumer(topic, group="slow")
    for n in range(10):
        play.publish(topic, str(n))
    drain(fast, 10)
    assert server.xlen(keys.log(topic, 0)) == 10
    records = take(slow, 10)
    slow.commit(records[:4])
    assert server.xlen(keys.log(topic, 0)) == 6
    slow.commit(records)
    assert server.xlen(keys.log(topic, 0)) == 0
    play.publish(topic, "and on")
    assert [record.offset for record in drain(fast, 1)] == [10]


def test_part_of_an_entry_is_kept_until_all_of_it_is_done(play: Play, server: Any) -> None:
    topic = play.topic()
    play.publish(topic, *"abcd")
    first = play.consumer(topic)
    first.commit(take(first, 4)[:2])
    play.leave(first)
    assert server.xlen(keys.log(topic, 0)) == 1
    assert values(drain(play.consumer(topic), 2)) == ["c", "d"]
    assert server.xlen(keys.log(topic, 0)) == 0


def test_what_nobody_fetches_leaves_after_its_retention(play: Play, server: Any) -> None:
    topic = f"{play.topic()}.short"
    play.bus.ensure_topics([Topic(topic, 1, keyed_by="nothing", retention_hours=0)])
    play.publish(topic, "old")
    waiting = server.xrange(keys.log(topic, 0))[0][1][b"t"]
    until(lambda: server.time()[0] * 1000 > int(waiting) + 1000, "a second has passed")
    for n in range(130):
        play.publish(topic, str(n))
    assert server.xlen(keys.log(topic, 0)) < 130
    kept = play.lag(topic, "late")
    assert kept == server.xlen(keys.log(topic, 0))
    assert len(drain(play.consumer(topic, group="late"), kept)) == kept


def test_a_shipment_that_is_repeated_is_in_once(
    play: Play, server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer got lost, so the publisher sends the same again."""
    topic = play.topic()
    bus: Any = play.bus
    run, lost = bus._server.run, [True]

    def forgetful(*call: Any) -> Any:
        answer = run(*call)
        if lost.pop() if lost else False:
            raise valkey.ConnectionError("the answer got lost")
        return answer

    monkeypatch.setattr(bus._server, "run", forgetful)
    play.publish(topic, "once")
    assert not lost
    assert play.lag(topic) == 1


def test_an_emptied_server_is_used_again_from_the_start(play: Play, server: Any) -> None:
    topic = play.topic(partitions=2)
    consumer = play.consumer(topic)
    play.publish(topic, *"abc", key=b"a")
    assert drain(consumer, 3)
    server.flushall()
    play.publish(topic, "new", key=b"a")
    assert values(drain(consumer, 1)) == ["new"]


def test_a_server_that_lost_its_last_second_loses_no_more_than_that(folder: Path) -> None:
    """Its offsets begin again where its log ends; who has read further must not wait there."""
    with Valkey(folder) as server:
        play = Play(StreamsBus(server.url))
        topic = play.topic()
        consumer = play.consumer(topic)
        play.publish(topic, *"abc")
        assert drain(consumer, 3)
        [log] = (folder / "data" / "appendonlydir").glob("*.incr.aof")
        size = log.stat().st_size
        play.publish(topic, *"lost")
        in_hand = take(consumer, 4)
        server.kill()
        with log.open("r+b") as file:
            file.truncate(size)
        server.start()
        play.publish(topic, *"newer")
        consumer.commit(in_hand)
        assert values(drain(consumer, 5)) == [*"newer"]
        play.close()
        play.bus.close()


def test_a_topic_that_the_server_has_lost_is_made_again(own_valkey: Served, server: Any) -> None:
    topic = Topic("lost", 3, keyed_by="nothing")
    StreamsBus(own_valkey.url).ensure_topics([topic])
    server.flushall()

    play = Play(StreamsBus(own_valkey.url, topics=[topic]))
    consumer = play.consumer("lost")
    play.publish("lost", *"found")

    assert sorted(values(drain(consumer, 5))) == sorted("found")
    assert len(play.bus.lags("anybody", ["lost"])) == 3
    play.close()
    play.bus.close()


def test_a_topic_with_fsync_waits_for_the_disk(own_valkey: Served, server: Any) -> None:
    play = Play(StreamsBus(own_valkey.url))
    topic = f"{play.topic()}.fsync"
    play.bus.ensure_topics([Topic(topic, 1, keyed_by="nothing", fsync=True)])
    before = _calls(server, "waitaof")
    play.publish(topic, "safe")
    assert _calls(server, "waitaof") == before + 1
    server.script_flush()
    play.publish(topic, "safe too")
    assert play.lag(topic) == 2
    server.config_set("appendonly", "no")
    with pytest.raises(BusUnavailable, match="appendonly"):
        play.publish(topic, "unsafe")
    server.config_set("appendonly", "yes")
    play.bus.close()


def test_a_full_server_says_so(folder: Path) -> None:
    with Valkey(folder, memory="3mb") as server:
        play = Play(StreamsBus(server.url))
        topic = play.topic()
        batch = ["x" * 1_000_000] * 10
        with pytest.raises(BusUnavailable, match="maxmemory"):
            play.publish(topic, *batch)
        play.bus.close()


@pytest.mark.parametrize("name", ["publish", "attend", "release", "leave", "commit"])
def test_every_script_says_what_its_keys_and_arguments_are(name: str) -> None:
    text = source(name)
    header = [line for line in text.splitlines() if line.startswith("--")]
    assert header[0].startswith(f"-- {name}: ")
    assert any("KEYS[1]" in line for line in header)
    assert any("ARGV" in line for line in header)


def _calls(server: Any, command: str) -> int:
    found: dict[str, Any] = server.info("commandstats")
    return int(found.get(f"cmdstat_{command}", {}).get("calls", 0))
