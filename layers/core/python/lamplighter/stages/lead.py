"""Lead: one term, from taking the lease to giving it up; with the queue, or without it."""

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Final

from lamplighter.domain.run import Due
from lamplighter.fail_points import FailPoint, fail_point
from lamplighter.ports.bus import BusUnavailable, UnknownPartition, UnknownTopic
from lamplighter.ports.ledger import Agenda, Lease
from lamplighter.ports.queue import QueueEmptied, QueueUnavailable, Tick
from lamplighter.stages.direct import Direct
from lamplighter.stages.duties import Duties, some
from lamplighter.stages.express import Express
from lamplighter.stages.housekeeping import Housekeeping
from lamplighter.stages.load import Loader, load_awake
from lamplighter.stages.plan import HORIZON, Page, plan
from lamplighter.stages.post import UNCALLED_SECONDS, Post
from lamplighter.stages.tick import take_over, tell_of, tick

LEASE_TTL: Final = timedelta(seconds=1.5)
# What is due and finds no room is looked at again after this; room is asked for no more often.
SHORTEST_SLEEP: Final = 0.02
# Where so many were due at once, the next are as well: a batch of them costs less, and each is late
# by half of this.
_MANY: Final = 50
_TOGETHER: Final = 0.05
# A call may mean that the ledger has something new, but many of them come at once.
_LOOK_AGAIN: Final = 0.05
# Planning is minutes ahead. A schedule that fires sooner is new, and is not kept waiting.
_SOON: Final = timedelta(seconds=60)
_FAR: Final = 3600.0
_BUS_AWAY: Final = (BusUnavailable, UnknownTopic, UnknownPartition)
_NOTHING: Final = Agenda(None, None)


class Term:
    def __init__(self, post: Post, lease: Lease) -> None:
        self._post, self._lease = post, lease
        self._duties = Duties(
            some(post.rhythm, "renew", "look", "tick", "plan", "load"), post.steady
        )
        self._agenda = _NOTHING
        self._planning: Iterator[Page] | None = None
        self._direct = Direct(post.ledger, post.bus, post.window)
        self._source: Loader | Direct | None = None
        self._housekeeping = Housekeeping(post, lease, self._loaded_to)
        self._express = Express(post, lambda: self._lease, self._owe)
        self._is_owed = True  # something popped may have been left unpublished

    def serve(self) -> None:
        """Until time is over; LeaseLost or StaleEpoch where somebody else leads before that."""
        with self._housekeeping, self._express:
            while self._post.left() > 0:
                try:
                    self._serve_directly() if self._post.sleeper.outage.lasts else self._serve()
                except QueueEmptied as error:  # begin again, from the watermark, as the same leader
                    self._post.report.note(error)
                except QueueUnavailable as error:
                    self._post.sleeper.lost_queue(error)

    def hand_on(self) -> None:
        """What the next leader would have to learn anew."""
        if not self._post.sleeper.outage.lasts:
            with suppress(QueueUnavailable):
                self._post.queue.keep_paces(self._post.window.paces())

    def close(self) -> None:
        self._housekeeping.join()
        self._express.join()

    def _loaded_to(self) -> datetime | None:
        source = self._source
        if source is None:
            return None
        return source.loaded_to if isinstance(source, Loader) else source.found_to

    def _serve(self) -> None:
        post, lease = self._post, self._lease
        loader = self._source = Loader(post.ledger, post.queue, lease)
        post.window.believe(post.queue.paces())
        self._is_owed = True
        self._hurry("tick", "load", "look")
        while post.left() > 0 and not post.sleeper.outage.lasts:
            began = post.steady()
            self._keep_lease()
            if self._has_to_plan():
                # Loading has passed these fires, or is about to: the queue takes each once.
                with loader.unsure():
                    post.queue.add(self._plan_some(), epoch=lease.epoch)
            if self._duties.due("load"):
                loader.start(post.clock.now() + HORIZON)
            post.report.loaded += loader.step()
            if self._is_time_to_wake():
                self._woke(load_awake(post.ledger, post.queue, lease, post.clock.now()))
            pause = min(self._tick(), self._duties.until("load"))
            self._sleep(began, 0.0 if loader.is_busy else pause)

    def _serve_directly(self) -> None:
        """Whoever leads with the queue next finds that nothing is loaded: its hints were lost."""
        post = self._post
        watermark = post.ledger.cursor().watermark
        post.ledger.move_cursor(self._lease, watermark)
        direct = self._source = self._direct
        direct.begin(watermark)
        self._hurry("look")
        while post.left() > 0 and post.sleeper.outage.lasts:
            began = post.steady()
            self._keep_lease()
            if self._has_to_plan():
                self._plan_some()  # each is found when its time comes
            now = post.clock.now()
            is_more = direct.find(now)
            if self._is_time_to_wake():
                self._woke(direct.wake(now))
            pause = self._publish(direct)
            self._sleep(began, 0.0 if is_more else pause)

    def _keep_lease(self) -> None:
        if self._duties.due("renew"):
            self._lease = self._post.ledger.renew_lease(self._lease, LEASE_TTL)
            self._post.continuity.answered()
            self._post.on_renewal()
        if self._duties.due("look"):
            self._agenda = self._post.ledger.agenda()

    def _has_to_plan(self) -> bool:
        now, fire_at = self._post.clock.now(), self._agenda.fire_at
        if self._planning is None and fire_at is not None:
            ahead = HORIZON if self._duties.due("plan") else _SOON
            if fire_at < now + ahead:
                self._agenda = Agenda(None, self._agenda.wake_at)
                self._planning = plan(self._post.ledger, self._lease, now + HORIZON)
        return self._planning is not None

    def _plan_some(self) -> list[Due]:
        """A page at a time, so that a long plan keeps neither the lease nor a tick waiting."""
        page = next(self._planning, None) if self._planning is not None else None
        if page is None:
            self._planning = None
            return []
        fail_point(FailPoint.PLAN_COMMITTED)
        self._post.report.planned += len(page)
        self._post.announce(page.news)
        return page

    def _is_time_to_wake(self) -> bool:
        wake_at = self._agenda.wake_at
        return wake_at is not None and wake_at <= self._post.clock.now()

    def _woke(self, runs: int) -> None:
        self._agenda = Agenda(self._agenda.fire_at, None)
        self._post.report.woken += runs
        if runs:
            self._hurry("look")  # when the next of them is due
        else:
            self._housekeeping.settle_soon()  # it does not sleep: it has waited too long

    def _tick(self) -> float:
        """Publish what is due; answers in how many seconds it is worth while to tick again."""
        post = self._post
        if post.bus_outage.lasts:
            return _FAR
        if not self._duties.due("tick"):
            return self._duties.until("tick")
        try:
            if self._is_owed:
                self._is_owed = False
                post.report.published += take_over(post.queue, post.bus, self._lease, post.window)
            began = datetime.now(UTC)
            now = post.clock.now()
            turn = tick(post.queue, post.bus, self._lease, now, post.window, found=self._found)
        except _BUS_AWAY as error:
            self._lost_bus(error)
            return _FAR
        post.report.published += len(turn.runs)
        if post.tracer is not None:
            post.tracer.published(turn.runs, began)
        pause = self._pause_after(turn)
        self._duties.hurry("tick", pause)
        return pause

    def _found(self, turn: Tick) -> None:
        """Before it is published, which may take a while."""
        self._express.flood(lasts=turn.backlog or turn.more)

    def _owe(self) -> None:
        self._is_owed = True

    def _pause_after(self, turn: Tick) -> float:
        if turn.more and turn.runs:
            return 0.0
        pause = min(self._until(turn.next_due), self._post.window.look_in())
        if turn.backlog:
            return min(pause, SHORTEST_SLEEP)
        return max(pause, _TOGETHER) if len(turn.runs) >= _MANY else pause

    def _publish(self, direct: Direct) -> float:
        post = self._post
        if post.bus_outage.lasts:
            return _FAR
        now, began = post.clock.now(), datetime.now(UTC)
        try:
            sent = direct.publish(now)
        except _BUS_AWAY as error:
            self._lost_bus(error)
            return _FAR
        post.report.published_directly += len(sent)
        if sent:
            tell_of(sent, self._lease.epoch)
        if post.tracer is not None:
            post.tracer.published(sent, began)
        return SHORTEST_SLEEP if sent else min(UNCALLED_SECONDS, self._until(direct.next_due(now)))

    def _lost_bus(self, error: Exception) -> None:
        """What was popped stays in flight; it is published when the bus is back."""
        self._post.report.note(error)
        self._is_owed = True
        self._post.bus_outage.begin()

    def _until(self, instant: datetime | None) -> float:
        if instant is None:
            return _FAR
        seconds = (instant - self._post.clock.now()).total_seconds()
        return max(SHORTEST_SLEEP if seconds < 0 else 0.0, seconds)

    def _hurry(self, *duties: str) -> None:
        for duty in duties:
            self._duties.hurry(duty)

    def _sleep(self, began: float, pause: float) -> None:
        post = self._post
        post.report.longest_pause = max(post.report.longest_pause, post.steady() - began)
        wake_in = self._until(self._agenda.wake_at)
        lease_in, look_in = self._duties.until("renew"), self._duties.until("look")
        pause = min(pause, wake_in, lease_in, look_in, post.left())
        if self._planning is None and pause > 0 and post.sleeper.sleep(pause):
            self._duties.hurry("tick")
            self._duties.hurry("look", _LOOK_AGAIN)
