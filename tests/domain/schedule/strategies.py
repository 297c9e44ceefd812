"""Expressions, zones and moments at random, the moments mostly near a change of the clock."""

from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from lamplighter.domain.schedule.zones import zone_names
from tests.domain.schedule.brute_force import Rule
from tests.domain.schedule.raw_zones import changes

START = datetime(1970, 1, 3, tzinfo=UTC)
END = datetime(2037, 12, 20, tzinfo=UTC)

zones = st.sampled_from(sorted(zone_names()))
gaps = st.sampled_from(["shift", "skip"])
overlaps = st.sampled_from(["first", "second", "both"])
anytime = st.integers(int(START.timestamp()), int(END.timestamp())).map(
    lambda second: datetime.fromtimestamp(second, UTC)
)


@st.composite
def near_a_change(draw: st.DrawFn, name: str, *, seconds: int = 30 * 3600) -> datetime:
    """A moment shortly before the zone's clock changes; anytime where it never does."""
    moments = [each.at for each in changes(name) if START.timestamp() < each.at < END.timestamp()]
    if not moments:
        return draw(anytime)
    change = datetime.fromtimestamp(draw(st.sampled_from(moments)), UTC)
    return change - timedelta(seconds=draw(st.integers(0, seconds)))


@st.composite
def field(draw: st.DrawFn, low: int, high: int) -> tuple[str, frozenset[int]]:
    """A list, a range or a range with a step; never a star."""
    kind = draw(st.sampled_from(["list", "range", "step"]))
    if kind == "list":
        values = draw(st.sets(st.integers(low, high), min_size=1, max_size=4))
        return ",".join(map(str, sorted(values))), frozenset(values)
    first = draw(st.integers(low, high - 1))
    last = draw(st.integers(first + 1, high))
    if kind == "range":
        return f"{first}-{last}", frozenset(range(first, last + 1))
    step = draw(st.integers(1, high - low))
    return f"{first}-{last}/{step}", frozenset(range(first, last + 1, step))


@st.composite
def starred(draw: st.DrawFn, low: int, high: int, step: bool) -> tuple[str, frozenset[int]]:
    stride = draw(st.integers(2, 7)) if step and draw(st.booleans()) else 1
    return ("*" if stride == 1 else f"*/{stride}"), frozenset(range(low, high + 1, stride))


@st.composite
def rules(
    draw: st.DrawFn,
    *,
    star_minutes: bool = True,
    periodic: bool = False,
    both_days: bool | None = None,
) -> Rule:
    """`periodic`: the hour starts with a star, and policies for the clock's changes are void."""

    def either(low: int, high: int) -> tuple[str, frozenset[int]]:
        return draw(draw(st.sampled_from([field(low, high), starred(low, high, True)])))

    def mostly_any(low: int, high: int) -> tuple[str, frozenset[int]]:
        # Two restricted days and a restricted month would leave few fires to compare.
        return (
            either(low, high) if draw(st.integers(0, 2)) == 0 else draw(starred(low, high, False))
        )

    minute = either(0, 59) if star_minutes else draw(field(0, 59))
    # Hours of the night more often than not: that is when clocks change.
    night = st.sets(st.sampled_from([0, 1, 2, 3, 4, 23]), min_size=1).map(
        lambda found: (",".join(map(str, sorted(found))), frozenset(found))
    )
    if periodic:
        hours = draw(starred(0, 23, True))
    else:
        hours = draw(night) if draw(st.booleans()) else either(0, 23)
    day, weekday = mostly_any(1, 31), mostly_any(0, 6)
    month = mostly_any(1, 12)
    texts = (minute[0], hours[0], day[0], month[0], weekday[0])
    return Rule(
        " ".join(texts),
        minute[1],
        hours[1],
        day[1],
        month[1],
        weekday[1],
        star_hour=hours[0].startswith("*"),
        star_day=day[0].startswith("*"),
        star_weekday=weekday[0].startswith("*"),
        both_days=draw(st.booleans()) if both_days is None else both_days,
    )
