"""Decide: what a person says about a single run."""

from http import HTTPStatus

from lamplighter.contracts.http import Request, Response
from lamplighter.contracts.http_decode import decode
from lamplighter.contracts.http_errors import RunNotHeld
from lamplighter.contracts.jobs import DecisionBody, EmptyBody
from lamplighter.domain.errors import RunNotFound
from lamplighter.domain.run import Recorded, Settled
from lamplighter.domain.states import RunState
from lamplighter.fail_points import FailPoint, fail_point
from lamplighter.stages.desk import Desk
from lamplighter.stages.once import Occasion, once


def post_cancel_run(desk: Desk, request: Request) -> Response:
    """CANCELLED if it waited; CANCELLING while its worker has yet to confirm."""
    decode(request.json_or_nothing(), EmptyBody)
    run_id = request.id("run_id")

    def answer(_: Occasion) -> Response:
        [settled] = desk.ledger.cancel_runs(request.tenant, [run_id])
        if settled.recorded is Recorded.STALE:
            raise RunNotFound(f"no run {run_id}")
        return _told(desk, settled)

    return once(desk, request, answer)


def post_decide(desk: Desk, request: Request) -> Response:
    """Only a held run waits for a person; what has a worker or an end is not theirs to say."""
    said = decode(request.json(), DecisionBody)
    run_id = request.id("run_id")

    def answer(_: Occasion) -> Response:
        run = desk.ledger.run(request.tenant, run_id)
        settled = desk.ledger.decide_held(request.tenant, run_id, RunState[said.status])
        if settled.recorded is Recorded.STALE:
            raise RunNotHeld(f"the run is {run.state.name}; only a HELD one is decided by a person")
        return _told(desk, settled)

    return once(desk, request, answer, request.body)


def _told(desk: Desk, settled: Settled) -> Response:
    """Those that wait for the run learn of its end here: no worker will report it."""
    fail_point(FailPoint.DECIDE_COMMITTED)
    told = [settled]
    if settled.state is not None and settled.state.is_final:
        told += desk.ledger.free_dependents([settled.run_id])
    desk.tell_settled(told)
    status = None if settled.state is None else settled.state.name
    return Response(HTTPStatus.OK, {"run_id": settled.run_id, "status": status})
