"""The scripts: documented, small in what they keep, and all of one slot."""

import re
from importlib.resources import files

import pytest

from infra.local.valkey import Valkey
from lamplighter.adapters.valkey.client import Client
from lamplighter.adapters.valkey.queue import ValkeyQueue
from lamplighter.domain.ids import new_job_id, run_id
from lamplighter.domain.run import Due
from tests.adapters.queue.builders import NOON, PLENTY, POOL, at, run
from tests.adapters.queue.stores import valkey_store

LUA = {
    path.name.removesuffix(".lua"): path.read_text(encoding="utf-8")
    for path in (files("lamplighter.adapters.valkey") / "lua").iterdir()
}
each_script = pytest.mark.parametrize("name", sorted(LUA))


@each_script
def test_a_script_begins_with_its_name_and_purpose(name: str) -> None:
    assert re.match(rf"-- {name}: \w.+", LUA[name])


@each_script
def test_a_script_maps_its_keys_and_arguments(name: str) -> None:
    text = LUA[name]
    code = re.sub(r"--.*", "", text)
    assert "KEYS" not in code or re.search(r"^-- KEYS", text, re.MULTILINE)
    assert "ARGV" not in code or re.search(r"^-- ARGV", text, re.MULTILINE)
    for key in set(re.findall(r"\b(SENTINEL|WAITING|TURNS|RUNS|IN_FLIGHT|PASSES)\b", code)):
        assert key in LUA["keys"]


def test_keys_are_given_in_the_order_that_the_scripts_expect(valkey_client: Client) -> None:
    mapped = re.findall(r"^-- KEYS\[\d\] +(\w+)", LUA["keys"], re.MULTILINE)
    assert valkey_client.queue_keys == [valkey_client.key(name) for name in mapped]


def test_every_key_carries_the_tag_of_its_cell(valkey_client: Client) -> None:
    store = valkey_store(valkey_client)
    store.queue.begin(1, NOON, NOON)
    store.queue.add([run(priority=p, tenant="{x}") for p in range(1, 11)] + [run(60)])
    store.queue.tick(1, at(0), {POOL: 5}, 5)
    store.cache.put_worker_statuses({"{w}": b""})
    keys = [key.decode() for key in valkey_client.ask("KEYS", "*")]
    assert len(keys) > 10
    assert all(key.startswith("{lamplighter}:") for key in keys)


def test_cells_in_one_store_do_not_meet(valkey_client: Client, valkey_server: Valkey) -> None:
    one = valkey_store(valkey_client).queue
    other_client = Client(valkey_server.url, cell="other")
    other = ValkeyQueue(other_client)
    one.begin(1, NOON, NOON)
    other.begin(5, NOON, NOON)
    one.add([run()])
    assert other.tick(5, at(0), PLENTY, 10).runs == []
    assert len(one.tick(1, at(0), PLENTY, 10).runs) == 1
    other_client.close()


def test_nothing_is_left_behind_when_all_is_published(valkey_client: Client) -> None:
    queue = valkey_store(valkey_client).queue
    queue.begin(1, NOON, NOON)
    queue.add([run(priority=1 + n % 10, tenant=f"t{n}") for n in range(50)])
    queue.published(1, queue.tick(1, at(0), PLENTY, 100).runs)
    left = {key.decode().partition(":")[2] for key in valkey_client.ask("KEYS", "*")}
    assert left == {"sentinel", "passes", "pools"}


def test_a_hundred_thousand_waiting_runs_take_16_megabytes(valkey_client: Client) -> None:
    """150 bytes each; a tenth of the million that benchmarks/queue.py measures."""
    queue = valkey_store(valkey_client).queue
    queue.begin(1, NOON, NOON)
    ids = [run_id(new_job_id(NOON), at(n % 300), POOL) for n in range(100_000)]
    queue.add([Due(each, "acme", POOL, 5, at(n % 300), 0) for n, each in enumerate(ids)])
    used = sum(
        valkey_client.ask("MEMORY", "USAGE", key, "SAMPLES", 0)
        for key in valkey_client.ask("KEYS", "*")
    )
    assert used / len(ids) < 160
    valkey_client.ask("FLUSHALL")
