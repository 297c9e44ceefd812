"""A task that works is kept by ECS: what its agent is asked, and how rarely."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any, ClassVar

import pytest

from lamplighter.adapters.ecs_protection import TaskProtection
from tests.e2e.stack import listening


class Agent:
    """Stands in for the one beside the task; `answer` is what it says."""

    def __init__(self, url: str, asked: list[tuple[str, str, dict[str, Any]]]) -> None:
        self.asked = asked
        self.now = 0.0
        self.protect = TaskProtection(url + "/api/1", lambda: self.now)

    @property
    def wishes(self) -> list[bool]:
        return [body["ProtectionEnabled"] for _, _, body in self.asked]


ANSWERS: dict[str, Any] = {}


class _Handler(BaseHTTPRequestHandler):
    asked: ClassVar[list[tuple[str, str, dict[str, Any]]]]

    def do_PUT(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append((self.command, self.path, body))
        said = json.dumps(ANSWERS or {"protection": {"ProtectionEnabled": True}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_: object) -> None:
        """Not into the test's output."""


@pytest.fixture
def agent() -> Iterator[Agent]:
    ANSWERS.clear()
    _Handler.asked = []
    with listening(_Handler) as url:
        yield Agent(url, _Handler.asked)


def test_it_is_asked_when_work_begins_and_when_it_ends(agent: Agent) -> None:
    for busy in (False, True, True, False, False):
        agent.protect(busy=busy)

    [began, ended] = agent.asked
    assert began == (
        "PUT",
        "/api/1/task-protection/v1/state",
        {"ProtectionEnabled": True, "ExpiresInMinutes": 60},
    )
    assert ended[2] == {"ProtectionEnabled": False}


def test_long_work_is_protected_again_before_it_expires(agent: Agent) -> None:
    agent.protect(busy=True)
    agent.now = 29 * 60
    agent.protect(busy=True)
    assert agent.wishes == [True]
    agent.now = 31 * 60
    agent.protect(busy=True)
    assert agent.wishes == [True, True]


def test_a_refusal_is_tried_again_and_not_at_every_look(agent: Agent) -> None:
    ANSWERS["failure"] = {"Reason": "DEPLOYMENT_BLOCKED"}
    agent.protect(busy=True)
    agent.protect(busy=True)
    assert agent.wishes == [True]
    ANSWERS.clear()
    agent.now = 11
    agent.protect(busy=True)
    agent.protect(busy=True)
    assert agent.wishes == [True, True]


def test_without_an_agent_the_worker_goes_on_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    TaskProtection("http://127.0.0.1:9/api")(busy=True)
    assert "the task is not protected from scaling in" in caplog.text
