"""For people: what submit, query and the authorizer work with."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from lamplighter.contracts.http import TenantClaim
from lamplighter.domain.run import Due
from lamplighter.domain.target import EcsSpec, TargetSpec, parse_but_commands, parse_target
from lamplighter.domain.target_rules import check_network
from lamplighter.stages.capacity import probe
from lamplighter.stages.clock import LedgerClock, this_machine
from lamplighter.stages.defer import Deferral, in_time
from lamplighter.stages.desk import Desk
from lamplighter.stages.gather import Gathering
from lamplighter.stages.news import Announcer
from lamplighter.stages.reach import Reach
from lamplighter.telemetry.metrics import REQUESTS_DEFERRED
from lamplighter.wiring.around import is_lambda, settings, telemetry, tracer
from lamplighter.wiring.buses import bus
from lamplighter.wiring.once import once
from lamplighter.wiring.stores import api_keys, cache, gate, ledger, logs, queue, slow

if TYPE_CHECKING:
    from lamplighter.stages.authorize import Authorizer
    from lamplighter.stages.keyring import Keyring

# How long a submission on Lambda waits for its news to leave: it is stopped when it has answered.
_A_MOMENT: Final = 0.1
# The heartbeat's answer says the same for as long as the run goes on.
_CANCELLED_FOR: Final = timedelta(hours=1)


@once
def reach() -> Reach:
    return Reach()


@once
def authorizer() -> "Authorizer":
    from lamplighter.stages.authorize import Authorizer

    return Authorizer(api_keys(), cache(), reach(), this_machine)


def keyring() -> "Keyring":
    from lamplighter.stages.keyring import Keyring

    return Keyring(api_keys(), cache() if settings().valkey_url else None)


def tenant_claim() -> TenantClaim:
    """Asked for by each request: a setting that is wrong is then told as any other."""
    return TenantClaim(settings().jwt_tenant_claim, settings().jwt_default_tenant)


@once
def desk() -> Desk:
    """What submit and query serve people with."""
    return Desk(
        ledger=ledger(),
        check_target=_check_target,
        now=LedgerClock(lambda: reach()(ledger().now), otherwise=this_machine, slow=slow()).now,
        deferral=Deferral(
            lambda batch: bus().publish(batch),
            reach(),
            # In this order: a call that may hang needs a thread, and many can share one.
            submit=Gathering(in_time(reach(), ledger().submit)),
            deferred=lambda jobs: telemetry().count(REQUESTS_DEFERRED, jobs),
        ),
        hint=_hint(),
        logs=logs(),
        # Asked for when there is something to tell: whoever only reads needs no bus.
        announce=Announcer(
            lambda news: bus().publish(news), wait_seconds=_A_MOMENT if is_lambda() else 0.0
        ),
        stop_running=lambda run_ids: cache().flag_cancelled(run_ids, _CANCELLED_FOR),
        cache=cache(),
        queue=queue(),
        pools=settings().windows().keys(),
        tracer=tracer(),
        probes={"queue": queue().counts, "bus": lambda: probe(bus())},
    )


def _check_target(document: object) -> TargetSpec:
    """What a worker would refuse for good is not accepted."""
    parse = parse_target if settings().commands else parse_but_commands
    spec = parse(document)
    if isinstance(spec, EcsSpec):
        check_network(spec.subnets, settings().own_network())
    return spec


def _hint() -> Callable[[Sequence[Due]], None]:
    if not settings().thrifty:
        return queue().add
    from lamplighter.stages.hint import Hint

    return Hint(gate(), queue(), lambda runs: bus().publish(runs), this_machine)
