"""Instants as integers. All arithmetic on fires is done in whole milliseconds since 1970, UTC."""

from datetime import UTC, date, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EPOCH_DAY = EPOCH.toordinal()
DAY = 86_400
_MILLISECOND = timedelta(milliseconds=1)

# A year inside of what `datetime` can hold at both ends, so that no offset can overflow it.
EARLIEST_MS = (datetime(2, 1, 1, tzinfo=UTC) - EPOCH) // _MILLISECOND
LATEST_MS = (datetime(9998, 1, 1, tzinfo=UTC) - EPOCH) // _MILLISECOND


def to_ms(instant: datetime) -> int:
    """The millisecond that `instant` lies in."""
    if instant.tzinfo is None:
        raise ValueError(f"{instant.isoformat()} has no offset: add an offset or Z")
    return (instant - EPOCH) // _MILLISECOND


def ceil_ms(instant: datetime) -> int:
    """The first millisecond that is not before `instant`."""
    return -((EPOCH - instant) // _MILLISECOND)


def from_ms(ms: int) -> datetime:
    """Undo `to_ms`."""
    seconds, rest = divmod(ms, 1000)
    return EPOCH + timedelta(0, seconds, rest * 1000)


def day_number(day: date) -> int:
    """Days since 1970-01-01, of a date on anybody's calendar."""
    return day.toordinal() - EPOCH_DAY


def wall_clock(wall: int) -> datetime:
    """What a clock shows, given its seconds since 1970-01-01 00:00 on that same clock."""
    return from_ms(wall * 1000).replace(tzinfo=None)
