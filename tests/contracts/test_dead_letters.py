"""A dead letter keeps the message as it was, and says where it came from and why."""

from datetime import UTC, datetime

from lamplighter.contracts.dead_letters import dead_letter, kept, read_dead_letter
from lamplighter.contracts.topics import DEAD_LETTERS
from lamplighter.ports.bus import MAX_MESSAGE_BYTES, Message, Record, check_sizes

DIED = datetime(2030, 1, 1, 12, tzinfo=UTC)
SENT = datetime(2030, 1, 1, 11, tzinfo=UTC)


def _record(value: bytes = b"{", key: bytes | None = b"k") -> Record:
    sent_ms = int(SENT.timestamp() * 1000)
    return Record("job-events", 7, 42, key, value, sent_ms, (("trace", b"\xff\x00"),))


def _published(message: Message, at: datetime = DIED) -> Record:
    ms = int(at.timestamp() * 1000)
    return Record(message.topic, 0, 3, message.key, message.value, ms, message.headers)


def test_a_letter_goes_back_as_it_was_first_published() -> None:
    letter = read_dead_letter(_published(dead_letter(_record(), "not JSON", "recorder")))

    assert letter.can_return
    assert letter.message() == Message("job-events", b"{", b"k", (("trace", b"\xff\x00"),))


def test_a_letter_says_where_it_came_from_when_why_and_who_gave_up() -> None:
    letter = read_dead_letter(_published(dead_letter(_record(), "größer \udcff", "recorder")))

    assert (letter.topic, letter.partition, letter.offset) == ("job-events", 7, 42)
    assert (letter.why, letter.function) == ("größer ?", "recorder")
    assert (letter.sent_at, letter.at) == (SENT, DIED)


def test_a_message_without_a_key_stays_one() -> None:
    letter = read_dead_letter(_published(dead_letter(_record(key=None), "", "recorder")))
    assert letter.message().key is None


def test_a_message_that_dies_again_is_no_letter_within_a_letter() -> None:
    first = read_dead_letter(_published(dead_letter(_record(), "not JSON", "recorder"))).message()
    again = read_dead_letter(_published(dead_letter(_published(first), "still not", "resolver")))

    assert (again.why, again.function) == ("still not", "resolver")
    assert again.headers == (("trace", b"\xff\x00"),)


def test_the_largest_message_still_fits_as_a_note_of_where_it_lies() -> None:
    message = dead_letter(_record(b"x" * (MAX_MESSAGE_BYTES - 10)), "why " * 10_000, "recorder")
    letter = read_dead_letter(_published(message))

    check_sizes([message])
    assert not letter.can_return
    assert (letter.topic, letter.partition, letter.offset) == ("job-events", 7, 42)
    assert f"{MAX_MESSAGE_BYTES - 10:,} bytes".encode() in letter.value


def test_a_letter_that_is_kept_longer_remembers_when_it_died() -> None:
    record = _published(dead_letter(_record(), "not JSON", "recorder"))
    later = datetime(2030, 1, 2, tzinfo=UTC)

    once = _published(kept(record), later)
    twice = _published(kept(once), later)

    assert read_dead_letter(twice) == read_dead_letter(record)


def test_a_letter_that_only_just_fitted_is_kept_whole() -> None:
    room = MAX_MESSAGE_BYTES - sum(
        len(name) + len(value) for name, value in dead_letter(_record(b""), "", "f").headers
    )
    full = dead_letter(_record(b"x" * (room - 1)), "", "f")
    assert read_dead_letter(_published(full)).whole

    again = kept(_published(full))

    check_sizes([again])
    assert read_dead_letter(_published(again)).whole


def test_a_message_that_nobody_meant_as_a_letter_has_nowhere_to_go() -> None:
    letter = read_dead_letter(Record(DEAD_LETTERS.name, 0, 0, None, b"hello", 2**62))

    assert letter.topic is None
    assert not letter.can_return
