"""The bill: arithmetic on small examples, sizes that exist, and a page that cannot go stale."""

from dataclasses import replace
from pathlib import Path

import pytest

from infra.aws.cost.assumed import ASSUMED, WHY, names
from infra.aws.cost.load import BULK, NOTHING, RECURRING, SINGLE, Load
from infra.aws.cost.page import dearer_until, marginal, page, scheduler
from infra.aws.cost.prices import COPY, HOURS, MEMORY, PRICES, Price
from infra.aws.cost.sizes import (
    alarm_metrics,
    awake_hours,
    executor_batch,
    how_many_cells,
    mappings,
    poller_units,
    too_many_requests,
)
from infra.aws.cost.usage import at_rest, dollars, month
from infra.aws.profiles import LARGE, PROFILES, SMALL, STANDARD, Profile
from tests.infra.aws.template import Template

pytestmark = pytest.mark.xdist_group("aws")
PAGE = Path(__file__).parents[3] / "docs" / "cost.md"


def test_the_page_is_what_the_script_prints() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()


def test_what_is_free_is_taken_off_and_what_is_much_has_its_own_price() -> None:
    price = Price("it", "piece", 2.0, "nowhere", free=10, until=100, then=1.0)

    assert [price.of(quantity) for quantity in (5, 10, 11, 110, 120)] == [0, 0, 2, 200, 210]


def test_every_price_has_a_unit_a_source_a_date_and_a_basis() -> None:
    for price in PRICES.values():
        assert price.unit
        assert price.source
        assert price.date.startswith("20")
        assert price.basis in {COPY, MEMORY}


def test_every_assumption_has_a_reason() -> None:
    assert list(WHY) == names()


@pytest.mark.parametrize("profile", PROFILES.values(), ids=list(PROFILES))
def test_every_size_of_a_profile_has_a_price(profile: Profile) -> None:
    for load in (NOTHING, Load(1_000_000), Load(1_000_000, SINGLE)):
        assert month(profile, load).keys() <= PRICES.keys()


def test_brokers_are_paid_by_the_hour_and_by_the_disk() -> None:
    broker = STANDARD.broker
    assert broker
    assert broker.volume_gigabytes
    usage = at_rest(STANDARD)

    assert usage[broker.instance_type] == broker.brokers * HOURS
    assert usage["broker_gb"] == broker.brokers * broker.volume_gigabytes
    assert "sqs" not in usage


def test_a_reader_is_paid_like_the_writer() -> None:
    alone = replace(STANDARD, database=replace(STANDARD.database, readers=0))

    assert at_rest(STANDARD)["acu"] == 2 * at_rest(alone)["acu"] == 2 * HOURS


def test_tasks_at_rest_are_paid_and_none_are_free() -> None:
    tasks = replace(STANDARD.tasks, at_rest=2, cpu=1024, memory=2048)
    usage = at_rest(replace(STANDARD, tasks=tasks))

    assert (usage["fargate_cpu"], usage["fargate_gb"]) == (2 * HOURS, 4 * HOURS)
    assert "fargate_cpu" not in at_rest(SMALL)


def test_a_thrifty_database_sleeps_most_of_an_hour() -> None:
    # Woken once an hour, 90 s before the time, and kept up for the 300 s until it may pause.
    assert awake_hours(SMALL, NOTHING) == pytest.approx(HOURS * 390 / 3600)
    assert awake_hours(SMALL, Load(1_000)) == HOURS
    assert awake_hours(STANDARD, NOTHING) == HOURS


def test_a_canary_every_minute_would_let_nothing_sleep() -> None:
    assert awake_hours(replace(SMALL, canary_seconds=60), NOTHING) == pytest.approx(HOURS)


def test_batches_grow_with_the_load_up_to_the_profiles() -> None:
    assert executor_batch(LARGE, Load(1_000)) == 1
    assert executor_batch(LARGE, Load(1e12)) == LARGE.readings["executor"].batch


def test_a_load_above_a_cells_limit_takes_a_second_cell() -> None:
    a_day = ASSUMED.runs_per_second_and_cell * 86_400

    assert how_many_cells(LARGE, Load(a_day)) == 1
    assert how_many_cells(LARGE, Load(a_day + 86_400)) == 2
    assert month(LARGE, Load(a_day + 86_400))["key"] == 2


def test_more_single_requests_than_the_api_lets_in_are_not_priced() -> None:
    assert too_many_requests(SMALL, Load(SMALL.api.rate * 86_400 + 86_400, SINGLE))
    assert not too_many_requests(SMALL, Load(SMALL.api.rate * 86_400, SINGLE))


def test_bulk_is_cheaper_than_single_and_recurring_than_bulk() -> None:
    costs = [marginal(LARGE, Load(100_000_000, kind)) for kind in (RECURRING, BULK, SINGLE)]

    assert costs == sorted(costs)
    assert costs[2] - costs[1] > 1  # a request of its own


def test_the_scheduler_of_eventbridge_gives_fourteen_million_away() -> None:
    assert scheduler(Load(14e6 / 31)) == 0
    assert scheduler(Load(24e6 / (HOURS / 24))) == pytest.approx(10.0)


def test_eventbridge_is_cheaper_until_it_is_not() -> None:
    until = dearer_until(LARGE, BULK)
    assert until

    for runs, cheaper in ((until, True), (until + 10_000_000, False)):
        load = Load(runs)
        assert (scheduler(load) <= dollars(month(LARGE, load))) is cheaper


def test_alarms_are_counted_as_the_template_has_them(template: Template) -> None:
    alarms = template.properties("AWS::CloudWatch::Alarm")
    looked_at = [
        sum("MetricStat" in each for each in alarm["Metrics"]) if "Metrics" in alarm else 1
        for alarm in alarms
    ]

    assert alarm_metrics(template.profile) == sum(looked_at)


def test_endpoints_keys_secrets_and_dashboards_are_the_templates(template: Template) -> None:
    usage = at_rest(template.profile)
    doors = [
        each
        for each in template.properties("AWS::EC2::VPCEndpoint")
        if each["VpcEndpointType"] == "Interface"
    ]

    assert usage["endpoints"] == sum(len(each["SubnetIds"]) for each in doors) * HOURS
    for name, kind in (
        ("key", "AWS::KMS::Key"),
        ("secret", "AWS::SecretsManager::Secret"),
        ("dashboards", "AWS::CloudWatch::Dashboard"),
    ):
        assert usage[name] == len(template.of_type(kind))


def test_pollers_are_counted_as_the_template_has_them(with_kafka: Template) -> None:
    found = with_kafka.properties("AWS::Lambda::EventSourceMapping")

    assert mappings() == len(found)
    least = sum(each["ProvisionedPollerConfig"]["MinimumPollers"] for each in found)
    assert poller_units(with_kafka.profile, NOTHING) == -(-least // 10)
