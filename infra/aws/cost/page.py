"""docs/cost.md, from the prices, the profiles and what is assumed."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from infra.aws.cost.assumed import ASSUMED, WHY, names
from infra.aws.cost.load import BULK, RECURRING, SINGLE, Load
from infra.aws.cost.prices import HOURS, PRICES, REGION
from infra.aws.cost.sizes import how_many_cells, mappings, too_many_requests
from infra.aws.cost.usage import Usage, at_rest, dollars, month
from infra.aws.profiles import LARGE, PROFILES, SMALL, STANDARD, Profile

_TEMPLATE: Final = Path(__file__).with_name("page.md")
_STEP: Final = 10_000_000
_FARTHEST: Final = 2_000_000_000
# Which profile carries which load, as somebody would choose it.
LOADS: Final = (
    (SMALL, 1_000, 1.0),
    (SMALL, 1_000, 24.0),
    (SMALL, 1_000_000, 24.0),
    (STANDARD, 1_000_000, 24.0),
    (LARGE, 100_000_000, 24.0),
    (LARGE, 1_000_000_000, 24.0),
)


def page() -> str:
    """The template beside this file, with numbers and tables in it."""
    filled = _numbers() | {
        "standing": _standing(),
        "loads": _loads(),
        "compared": _compared(),
        "assumed": _assumed(),
        "prices": _prices(),
    }
    return _TEMPLATE.read_text(encoding="utf-8").format(**filled)


def scheduler(load: Load) -> float:
    """EventBridge Scheduler, for the same runs."""
    return PRICES["scheduler"].of(load.runs / 1e6)


def marginal(profile: Profile, load: Load) -> float:
    """Dollars for a million runs, without what stands anyway."""
    cells = how_many_cells(profile, load)
    return (dollars(month(profile, load)) - cells * dollars(at_rest(profile))) / load.runs * 1e6


def dearer_until(profile: Profile, submission: str) -> int | None:
    """Runs a day, in steps of ten million, above which EventBridge Scheduler always costs more."""
    steps = range(_STEP, _FARTHEST + 1, _STEP)
    loads = [Load(runs, submission) for runs in steps]
    dearer = [load for load in loads if dollars(month(profile, load)) >= scheduler(load)]
    last = int(dearer[-1].runs_a_day) if dearer else 0
    return last if last < _FARTHEST else None


def _standing() -> str:
    usages = {name: at_rest(profile) for name, profile in PROFILES.items()}
    rows = [
        [price.what, *(_of(price.of(usage.get(name, 0))) for usage in usages.values())]
        for name, price in PRICES.items()
        if any(name in usage for usage in usages.values())
    ]
    total = [f"**{dollars(usage):,.0f}**" for usage in usages.values()]
    return _table(["$ a month", *usages], [*rows, ["**all**", *total]])


def _loads() -> str:
    return _table(
        ["runs a day", "profile", "cells", "standing", "with bulk", "per million", "with single",
         "per million", "EventBridge Scheduler"],
        [_load(*each) for each in LOADS],
    )  # fmt: skip


def _load(profile: Profile, runs: int, hours: float) -> list[str]:
    bulk, single = Load(runs, BULK, hours), Load(runs, SINGLE, hours)
    cells = how_many_cells(profile, bulk)
    with_bulk, with_single = dollars(month(profile, bulk)), dollars(month(profile, single))
    singles = ["–", "–"]
    if not too_many_requests(profile, single):
        singles = [f"{with_single:,.0f}", f"{with_single / single.runs * 1e6:,.2f}"]
    spread = "" if hours == 24 else f", in {hours:.0f} h of it"
    return [
        f"{runs:,}{spread}",
        profile.name,
        str(cells),
        f"{cells * dollars(at_rest(profile)):,.0f}",
        f"{with_bulk:,.0f}",
        f"{with_bulk / bulk.runs * 1e6:,.2f}",
        *singles,
        f"{scheduler(bulk):,.0f}",
    ]


def _numbers() -> dict[str, str]:
    """All that stands in sentences."""
    rest = at_rest(SMALL)
    weaker = replace(ASSUMED, runs_per_acu=ASSUMED.runs_per_acu / 3)
    return _per_million() | {
        "region": REGION,
        "dated": max(price.date for price in PRICES.values()),
        "nat": f"{3 * HOURS * PRICES['nat'].dollars:.0f}",
        "mappings": str(mappings()),
        "rate": f"{LARGE.api.rate:,}",
        "until_bulk": _until(dearer_until(LARGE, BULK)),
        "until_single": _until(dearer_until(LARGE, SINGLE)),
        "third": f"{dollars(month(LARGE, Load(1_000_000_000), weaker)):,.0f}",
        "first": _paid(rest, "endpoints", "valkey_gb"),
        "small": f"{dollars(rest):.0f}",
        "aurora": _paid(rest, "acu"),
        "quiet_sqs": _paid(rest, "sqs"),
        "alarms": _paid(rest, "alarms"),
        "metrics": _paid(rest, "metrics"),
        "kept": _paid(rest, "key", "secret"),
        "standard": f"{dollars(at_rest(STANDARD)):,.0f}",
        "spread": f"{dollars(month(SMALL, Load(1_000, SINGLE))):.0f}",
        "sqs": f"{PRICES['sqs'].of(month(SMALL, Load(1_000_000))['sqs']):.0f}",
    }


def _paid(usage: Usage, *names: str) -> str:
    return f"{sum(PRICES[name].of(usage[name]) for name in names):.1f}"


def _until(runs: int | None) -> str:
    return f"up to {runs / 1e6:,.0f} million runs a day" if runs is not None else "at any load"


def _per_million() -> dict[str, str]:
    """What a million more costs, at the load that a profile is for."""
    return {
        f"{kind}_{profile.name}": f"{marginal(profile, Load(runs, kind)):.2f}"
        for profile, runs in ((SMALL, 1_000_000), (STANDARD, 1_000_000), (LARGE, 100_000_000))
        for kind in (SINGLE, BULK, RECURRING)
    }


def _compared() -> str:
    rows = [
        [
            f"{runs:,}",
            f"{scheduler(Load(runs)):,.0f}",
            f"{dollars(month(profile, Load(runs))):,.0f}",
            profile.name,
        ]
        for runs, profile in (
            (10_000, SMALL), (1_000_000, SMALL), (10_000_000, LARGE), (100_000_000, LARGE),
            (300_000_000, LARGE), (1_000_000_000, LARGE),
        )
    ]  # fmt: skip
    return _table(["runs a day, in bulk", "EventBridge Scheduler, $", "Lamplighter, $", "as"], rows)


def _assumed() -> str:
    rows = [[name, f"{getattr(ASSUMED, name):,g}", WHY[name]] for name in names()]
    return _table(["assumed", "", "why"], rows)


def _prices() -> str:
    rows = [
        [
            price.what,
            f"{price.dollars:.10f}".rstrip("0").rstrip("."),
            price.unit,
            f"{price.free:,g}" if price.free else "",
            price.source,
            price.date,
            price.basis,
        ]
        for price in PRICES.values()
    ]
    heads = ["price of", "$", "per", "free a month", "where it stands", "as of", "from"]
    return _table(heads, rows)


def _of(amount: float) -> str:
    return f"{amount:,.1f}" if amount else ""


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
