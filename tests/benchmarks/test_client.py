"""The client knows when an answer is whole, however it comes in parts, and minds what it says."""

import pytest

from benchmarks.client import is_whole, request

ANSWER = b'HTTP/1.1 201 Created\r\nContent-Length: 8\r\n\r\n{"a": 1}'


def test_an_answer_is_whole_with_its_last_byte() -> None:
    assert not any(is_whole(ANSWER[:end]) for end in range(len(ANSWER)))
    assert is_whole(ANSWER)


def test_a_refusal_is_no_answer() -> None:
    with pytest.raises(RuntimeError, match="422"):
        is_whole(ANSWER.replace(b"201 Created", b"422 No"))


def test_a_request_says_how_long_its_body_is() -> None:
    assert request("h:1", "/jobs", b"{}").endswith(b"Content-Length: 2\r\n\r\n{}")
