"""What is kept of output and results: bounded, valid, masked, and all of it in the log."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.ports.logs import LogsUnavailable
from lamplighter.stages.run.alarms import Alarms
from lamplighter.stages.run.keeping import Mask, clean, keep_result, shorten
from lamplighter.stages.run.limits import Limits
from lamplighter.stages.run.output import Kept, Output


class Written:
    """A log in memory, that may fail."""

    def __init__(self, fails_after: int = 1_000_000) -> None:
        self.data = b""
        self.discarded = False
        self._fails_after = fails_after

    def write(self, data: bytes) -> None:
        if len(self.data) + len(data) > self._fails_after:
            raise LogsUnavailable("full")
        self.data += data

    def close(self) -> str:
        return "memory:"

    def discard(self) -> None:
        self.discarded = True


def an_output(log: Written, mask: Mask | None = None, **limits: Any) -> Output:
    return Output(Limits(**limits), mask or Mask(), lambda: log)


@given(st.lists(st.binary(max_size=60)), st.integers(min_value=2, max_value=50))
def test_beginning_and_end_are_kept_however_it_arrives(pieces: list[bytes], limit: int) -> None:
    kept, whole = Kept(limit), b"".join(pieces)
    for piece in pieces:
        kept.write(piece)

    text, half = kept.text(), limit // 2
    if not whole:
        assert text is None
    elif len(whole) <= 2 * half:
        assert text == clean(whole.decode(errors="replace"))
    else:
        assert text is not None
        assert f"… {len(whole) - 2 * half:,} bytes left out …" in text
        assert text.endswith(clean(whole[-half:].decode(errors="replace")))


@given(st.lists(st.sampled_from([b"se", b"cret", b"secret", b"x", b"cretse"])))
def test_a_secret_is_masked_however_it_is_cut_into_pieces(pieces: list[bytes]) -> None:
    log, mask = Written(), Mask()
    mask.add("secret")
    output = an_output(log, mask)
    for piece in pieces:
        output.stdout.write(piece)
    captured = output.close()

    whole = b"".join(pieces).decode()
    assert "secret" not in (captured.stdout or "")
    assert b"secret" not in log.data
    assert (captured.stdout or "") == whole.replace("secret", "•••")


def test_a_short_secret_is_not_masked_for_it_would_be_everywhere() -> None:
    mask = Mask()
    mask.add("a")

    assert not mask
    assert mask.text("banana") == "banana"


def test_of_two_secrets_the_longer_goes_first() -> None:
    mask = Mask()
    for value in ("pass", "password1", "password1"):
        mask.add(value)

    assert mask.text("password1 pass") == "••• •••"


def test_both_streams_go_to_one_log_in_their_order() -> None:
    log = Written()
    output = an_output(log)
    output.stdout.write(b"1")
    output.stderr.write(b"2")
    output.stdout.write(b"3")

    captured = output.close()

    assert log.data == b"123"
    assert (captured.stdout, captured.stderr, captured.log_url) == ("13", "2", "memory:")


def test_a_log_ends_at_its_limit_and_says_so() -> None:
    log = Written()
    output = an_output(log, log_bytes=10)
    for _ in range(5):
        output.stdout.write(b"12345678")

    assert output.close().stdout == "12345678" * 5
    assert log.data.startswith(b"1234567812\n[lamplighter: the log ends here")
    assert log.data.count(b"lamplighter") == 1


def test_a_log_that_fails_half_way_is_discarded_and_the_output_still_kept() -> None:
    log = Written(fails_after=10)
    output = an_output(log)
    for _ in range(5):
        output.stdout.write(b"12345678")

    captured = output.close()

    assert (captured.stdout, captured.log_url) == ("12345678" * 5, None)
    assert log.discarded


def test_what_is_printed_after_the_end_is_nobodys() -> None:
    log = Written()
    output = an_output(log)
    output.stdout.write(b"before")
    output.close()
    output.stdout.write(b"after")

    assert log.data == b"before"
    assert output.stdout.text() == "before"


@given(st.text())
def test_clean_text_is_taken_by_any_store(text: str) -> None:
    assert "\0" not in clean(text + "\0\ud800")
    clean(text + "\0\ud800").encode()


def test_a_text_within_the_limit_stays_as_it_is() -> None:
    assert shorten("short", 5) == "short"
    assert shorten("a" * 6 + "b" * 6, 4) == "aa … 8 characters left out … bb"


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (None, None),
        ({"a": [1, 2.5, True, None, "ü"]}, {"a": [1, 2.5, True, None, "ü"]}),
        ("[" * 200, "[" * 200),
        (["\0"], ["\ufffd"]),
        ("\\u0000", "\\u0000"),
        (2**70, 2**70),
    ],
)
def test_a_result_is_kept_as_json_has_it(value: Any, kept: Any) -> None:
    assert keep_result(value, 1000) == kept


@pytest.mark.parametrize("levels", [101, 400, 5000])
def test_a_result_that_nests_too_deeply_is_not_kept(levels: int) -> None:
    nested: Any = 0
    for _ in range(levels):
        nested = [nested]

    kept = keep_result(nested, 100_000)

    assert "too_deep" in kept or "not_json" in kept


def test_alarms_ring_in_order_and_those_taken_back_do_not() -> None:
    import threading
    import time

    alarms, rung, done = Alarms(), list[int](), threading.Event()
    now = time.monotonic()
    alarms.at(now + 0.10, done.set)
    taken = alarms.at(now + 0.03, lambda: rung.append(3))
    alarms.at(now + 0.04, lambda: rung.append(4))
    alarms.at(now + 0.02, lambda: rung.append(2))
    alarms.at(now + 0.05, lambda: rung.append(1 // 0))
    alarms.at(now - 1, lambda: rung.append(1))
    alarms.take_back(taken)

    assert done.wait(10)
    assert rung == [1, 2, 4]


def test_alarms_that_were_taken_back_do_not_pile_up() -> None:
    import time

    alarms = Alarms()
    for _ in range(10_000):
        alarms.take_back(alarms.at(time.monotonic() + 3600, lambda: None))

    assert len(alarms._heap) < 200
