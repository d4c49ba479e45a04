"""Random lives of jobs, looked at now and then: the ledger is what somebody saw who missed nothing.

Looks are refused, and each accepted one begins from what the API server would give back.
"""

import json
from collections import defaultdict
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from spotrain.controller.board import Board
from spotrain.controller.failure import pause
from spotrain.controller.model import PodView, TrafficView, WorldView
from spotrain.controller.reconcile import reconcile
from spotrain.controller.status import JobStatus
from spotrain.ledger import settlement
from spotrain.ledger.attribution import Tenant, Use, attribute
from spotrain.ledger.entries import (
    BackOffEntry,
    NodeEntry,
    PauseEntry,
    Place,
    StayEntry,
    WorldEntry,
)
from spotrain.ledger.time_split import Span, split_time
from spotrain.ledger.traffic import traffic_of
from spotrain.worlds import Checkpoint, Reason, Seat, World, history
from tests.controller.builders import LONG_AGO, NOW, job, node, pod, pool, seen

NODES = (
    node("node-a", gpus=2, created_at=LONG_AGO),
    node("node-b", zone="b", gpus=2, created_at=LONG_AGO),
    node("node-c", pool="cpu", zone="c", created_at=LONG_AGO),
)
POOLS = (pool(gpus_per_node=2), pool("cpu", gpus_per_node=0))
FEW = 3
"""Entries that are kept, so that short lives overflow their lists."""
planned = st.sampled_from([Reason.NOTICE, Reason.GROWTH])
unplanned = st.sampled_from([Reason.LOSS, Reason.FAILURE, Reason.STALL])


@pytest.fixture(autouse=True)
def short_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settlement, "NEWEST", FEW)


class Lives(RuleBasedStateMachine):
    """One job; the coordinator is never lost."""

    def __init__(self) -> None:
        super().__init__()
        self.now = NOW
        self.status = JobStatus()
        self.moved: dict[str, TrafficView] = {}
        self.suspended = False
        self.pods: dict[str, PodView] = {}
        self.births = self.number = 0
        self.came_at = NOW
        """When the coordinator did."""
        self.chapters: history.History = ()
        self.clock_began = LONG_AGO
        self.step = self.committed = 0
        # What happened, for who sees all.
        self.stays: dict[str, StayEntry] = {}
        self.pauses: list[PauseEntry] = []
        self.back_offs: list[BackOffEntry] = []
        self.worlds: dict[int, WorldEntry] = {}

    # --- Time, pods ---

    @rule(seconds=st.integers(1, 200))
    def pass_time(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)

    @precondition(lambda self: len(self.pods) < 4)
    @rule(gpus=st.integers(0, 2))
    def create_pod(self, gpus: int) -> None:
        self.births += 1
        index = min(set(range(4)) - {p.index for p in self.pods.values()})
        uid = f"uid-{self.births}"
        self.pods[uid] = pod(
            index, "Pending", uid=uid, node=None, created_at=self.now, gpus=gpus, place="t4-spot/a"
        )

    @precondition(lambda self: self._pods(node=False))
    @rule(data=st.data())
    def schedule(self, data: st.DataObject) -> None:
        view = data.draw(st.sampled_from(self._pods(node=False)))
        where = data.draw(st.sampled_from(NODES)).name
        self.pods[view.uid] = replace(view, node=where, scheduled_at=self.now, waits_for="Pulling")

    @precondition(lambda self: self._pods(node=True, phase="Pending"))
    @rule(data=st.data())
    def start(self, data: st.DataObject) -> None:
        view = data.draw(st.sampled_from(self._pods(node=True, phase="Pending")))
        self.pods[view.uid] = replace(
            view, phase="Running", ready=True, started_at=self.now, waits_for=""
        )

    @precondition(lambda self: self._pods(node=True, phase="Running"))
    @rule(data=st.data(), is_cleared=st.booleans())
    def end_pod(self, data: st.DataObject, is_cleared: bool) -> None:
        view = data.draw(st.sampled_from(self._pods(node=True, phase="Running")))
        over = replace(view, phase="Failed", ready=False, disrupted=True, ended_at=self.now)
        self.pods[view.uid] = over
        self.look()
        if is_cleared:
            del self.pods[view.uid]

    @precondition(lambda self: self._pods(node=True, phase="Running"))
    @rule(data=st.data(), is_cleared=st.booleans())
    def fail_pod(self, data: st.DataObject, is_cleared: bool) -> None:
        view = data.draw(st.sampled_from(self._pods(node=True, phase="Running")))
        over = replace(view, phase="Failed", ready=False, exit_code=1, ended_at=self.now)
        self.pods[view.uid] = over
        self.look()
        if is_cleared:
            del self.pods[view.uid]

    @precondition(lambda self: self.pods)
    @rule(data=st.data())
    def vanish(self, data: st.DataObject) -> None:
        """Somebody removes a pod at once; that it had a node is known after 15 s."""
        self.now += timedelta(seconds=15)
        self.look()
        del self.pods[data.draw(st.sampled_from(sorted(self.pods)))]

    @precondition(lambda self: self._pods(node=True, phase="Running"))
    @rule(data=st.data(), read=st.integers(0, 9), written=st.integers(0, 9))
    def move(self, data: st.DataObject, read: int, written: int) -> None:
        name = data.draw(st.sampled_from(self._pods(node=True, phase="Running"))).name
        self.moved[name] = TrafficView(read, written, at=self.now)

    def _pods(self, *, node: bool, phase: str = "Pending") -> list[PodView]:
        return [p for p in self.pods.values() if bool(p.node) == node and p.phase == phase]

    # --- Worlds ---

    @property
    def _present(self) -> history.Chapter | None:
        last = self.chapters[-1] if self.chapters else None
        return last if last and last.ended_at is None else None

    @property
    def _clock(self) -> float:
        return (self.now - self.clock_began).total_seconds()

    @precondition(lambda self: self._present is None and not self.suspended)
    @rule()
    def publish(self) -> None:
        self.number += 1
        names = [p.name for p in self._pods(node=True, phase="Running")] or ["digits-worker-0"]
        seats = tuple(Seat(id=name, address="", ranks=1) for name in names)
        world = World(number=self.number, seats=seats, store_port=1, restore=None)
        self.chapters = history.publish(self.chapters, world, self._clock)
        self.step = self.committed
        self._learn()

    @precondition(lambda self: self._present is not None)
    @rule(steps=st.integers(1, 9), stall=st.integers(0, 9), wait=st.integers(0, 9))
    def train(self, steps: int, stall: int, wait: int) -> None:
        present = self._present
        assert present
        is_first = present.first_step_at is None
        restored = self.step if is_first else None
        self.step += 1 if is_first else steps
        self.chapters = history.progress(
            self.chapters,
            number=present.number,
            step=self.step,
            samples=8,
            restored_step=restored,
            previous_step=None,
            now=self._clock,
            save_stall_seconds=present.save_stall_seconds + (0 if is_first else stall),
            data_wait_seconds=present.data_wait_seconds + (0 if is_first else wait),
        )
        self._learn()

    @precondition(lambda self: self._present and self._present.last_step is not None)
    @rule()
    def commit(self) -> None:
        assert self._present
        self.committed = self.step
        found = Checkpoint(self._present.number, self.step)
        self.chapters = history.commit(self.chapters, found, self._clock)
        self._learn()

    @precondition(lambda self: self._present is not None)
    @rule(reason=planned | unplanned)
    def end_world(self, reason: Reason) -> None:
        assert self._present
        if reason in (Reason.NOTICE, Reason.GROWTH) and self._present.last_step is not None:
            self.commit()
        number = self._present.number
        self.chapters = history.end(self.chapters, number, reason, self._clock)
        self._learn()

    def _learn(self) -> None:
        """Of the newest two worlds, for a first step tells of the one before too."""

        def wall(clock: float | None) -> Any:
            return None if clock is None else self.clock_began + timedelta(seconds=clock)

        for chapter in self.chapters:
            self._tell(
                WorldEntry(
                    number=chapter.number,
                    size=chapter.size,
                    published_at=wall(chapter.published_at),
                    first_step_at=wall(chapter.first_step_at),
                    last_step_at=wall(chapter.last_step_at),
                    restored_step=chapter.first_step,
                    last_step=chapter.last_step,
                    committed_step=chapter.committed_step,
                    ended_at=wall(chapter.ended_at),
                    reason=str(chapter.reason or ""),
                    save_stall_seconds=chapter.save_stall_seconds,
                    data_wait_seconds=chapter.data_wait_seconds,
                )
            )

    def _tell(self, world: WorldEntry) -> None:
        self.worlds[world.number] = world

    # --- Looks ---

    @rule()
    def toggle_suspend(self) -> None:
        self.suspended = not self.suspended

    @rule()
    def refused_look(self) -> None:
        reconcile(self._job, self._observed(), self.now)

    @rule()
    def look(self) -> None:
        observed, before = self._observed(), self.status
        status = reconcile(self._job, observed, self.now).status
        again = reconcile(self._job, replace(observed, status=status), self.now).status
        assert again == status
        self.status = JobStatus.from_document(json.loads(json.dumps(status.to_document())))
        assert self.status == status
        self._see(is_first=before.ledger is None, is_fresh=status != before)
        self._compare_with_all(is_fresh=status != before)

    @property
    def _job(self) -> Any:
        elastic = {"progressDeadlineSeconds": 0, "firstStepDeadlineSeconds": 0}
        return job(
            minReplicas=2,
            maxReplicas=4,
            suspend=self.suspended,
            elastic=elastic,
            runPolicy={"backoffLimit": 1000},
        )

    def _observed(self) -> Any:
        present = self._present
        world = WorldView(
            number=self.number,
            size=present.size if present else 0,
            phase="running" if present else "waiting",
            since=self.came_at,
            step=self.step,
            chapters=self.chapters,
            clock_began=self._told_clock_began(),
            traffic=self.moved,
        )
        return seen(
            *self.pods.values(),
            nodes=NODES,
            pools=POOLS,
            world=world,
            status=self.status,
            board=Board(since=NOW),
        )

    def _told_clock_began(self) -> datetime:
        return self.clock_began

    def _see(self, *, is_first: bool, is_fresh: bool) -> None:
        """Pods and pauses, as they are at a look."""
        for view in self.pods.values():
            told, known = self.moved.get(view.name), self.stays.get(view.uid)
            heard = told if told and is_fresh and told.at >= view.created_at else known
            self.stays[view.uid] = StayEntry(
                pod=view.name,
                uid=view.uid,
                gpus=view.gpus,
                created_at=view.created_at,
                scheduled_at=view.scheduled_at,
                started_at=view.started_at,
                ended_at=view.ended_at,
                node=view.node or "",
                read_bytes=heard.read_bytes if heard else None,
                written_bytes=heard.written_bytes if heard else None,
            )
        for uid, stay in self.stays.items():
            if uid not in self.pods and stay.ended_at is None:
                self.stays[uid] = replace(stay, ended_at=self.now)
        is_open = bool(self.pauses) and self.pauses[-1].until is None
        if self.suspended and not is_open:
            self.pauses.append(PauseEntry(since=NOW if is_first else self.now))
        elif is_open and not self.suspended:
            self.pauses[-1] = replace(self.pauses[-1], until=self.now)
        mark = self.status.last_failure
        if mark and mark.at == self.now:
            self.back_offs.append(BackOffEntry(since=mark.at, until=mark.at + pause(mark)))

    def _compare_with_all(self, *, is_fresh: bool) -> None:
        assert self.status.ledger
        totals = self.status.ledger.totals
        assert totals
        if not is_fresh:
            return
        assert totals.until == self.now
        life = Span(NOW, self.now)
        worlds, stays = list(self.worlds.values()), list(self.stays.values())
        whole = split_time(worlds, stays, self.pauses, self.back_offs, life=life, min_workers=2)
        self.compare_time(totals.useful_seconds, totals.lost_seconds, whole)
        paused = sum(Span(p.since, p.until or self.now).seconds for p in self.pauses)
        assert totals.wanted_seconds == pytest.approx(life.seconds - paused, abs=1e-3)
        held = self._held(stays)
        found = {total.place.zone: total.node_seconds for total in totals.places}
        assert found == pytest.approx({zone: held[zone] for zone in found}, abs=1e-3)
        assert found.keys() >= held.keys()
        assert totals.traffic == traffic_of(stays)
        hours = sum(held.values()) / 3600
        assert totals.estimated_usd == pytest.approx(hours * 0.18, abs=1e-6)
        assert totals.list_usd == pytest.approx(hours * 0.53, abs=1e-6)

    def _held(self, stays: list[StayEntry]) -> dict[str, float]:
        """Zone -> node seconds, as they are charged to the job by who has the whole record."""
        nodes = [
            NodeEntry(
                name=each.name,
                uid=each.name,
                place=Place(pool=each.pool, zone=each.zone, capacity="spot"),
                gpus=each.gpus,
                created_at=LONG_AGO,
            )
            for each in NODES
        ]
        places = {each.name: each.place for each in nodes}
        told = [replace(stay, place=places.get(stay.node)) for stay in stays]
        held: dict[str, float] = defaultdict(float)
        for charge in attribute(nodes, [Tenant(job="j", created_at=NOW, stays=told)], now=self.now):
            if charge.use is Use.HELD:
                held[charge.place.zone] += 3600 * charge.node_hours
        return held

    def compare_time(self, useful: float, lost: Any, whole: Any) -> None:
        assert useful == pytest.approx(whole.useful_seconds, abs=1e-3)
        assert vars(lost) == pytest.approx(vars(whole.lost_seconds), abs=1e-3)

    @invariant()
    def a_world_tells_its_speed_while_it_is_the_present_one(self) -> None:
        world = self.status.world
        if world is not None:
            present = [e for e in self.status.history[-1:] if e.ended_at is None]
            speed = next((e.steps_per_second for e in present if e.number == world.number), None)
            assert world.steps_per_second == (speed and pytest.approx(speed, rel=1e-5))

    @invariant()
    def lists_stay_short(self) -> None:
        assert len(self.status.history) <= FEW
        numbers = [world.number for world in self.status.history]
        assert numbers == sorted(set(numbers))
        for world in self.status.history:
            assert sum(members.workers for members in world.members) <= world.size
            assert all(isinstance(members.place, Place) for members in world.members)


class LivesOfLostCoordinators(Lives):
    """What was not written is forgotten with the coordinator, and its clock is never read twice in
    the same way: little is lost, nothing is counted twice, and no time that was entered moves."""

    def __init__(self) -> None:
        super().__init__()
        self.entered: dict[tuple[int, str], datetime] = {}
        self.reads = 0

    @rule(is_new_clock=st.booleans())
    def lose_coordinator(self, is_new_clock: bool) -> None:
        """Its successor learns of the world that trains, and of that world's first step."""
        present, self.chapters, self.came_at = self._present, (), self.now
        if is_new_clock:
            self.clock_began = self.now - timedelta(seconds=5)
        if present is None:
            return
        seats = tuple(Seat(id=name, address="", ranks=1) for name in present.members)
        world = World(number=present.number, seats=seats, store_port=1, restore=None)
        self.chapters = history.publish((), world, self._clock)
        if present.first_step is not None:
            self.chapters = history.progress(
                self.chapters,
                number=present.number,
                step=present.first_step + 1,
                samples=8,
                restored_step=present.first_step,
                previous_step=None,
                now=self._clock,
            )

    def _told_clock_began(self) -> datetime:
        self.reads += 1
        return self.clock_began + timedelta(milliseconds=self.reads * 7919 % 41 - 20)

    def _tell(self, world: WorldEntry) -> None:
        known = self.worlds.get(world.number, world)
        self.worlds[world.number] = replace(
            world,
            published_at=known.published_at,
            first_step_at=known.first_step_at or world.first_step_at,
            last_step_at=max(filter(None, (known.last_step_at, world.last_step_at)), default=None),
        )

    def compare_time(self, useful: float, lost: Any, whole: Any) -> None:
        assert min(vars(lost).values()) >= 0
        newest = self.status.history[-1] if self.status.history else None
        if newest is None or newest.ended_at or not self.worlds[newest.number].ended_at:
            trained = whole.useful_seconds + sum(
                (
                    whole.lost_seconds.redone,
                    whole.lost_seconds.save_stall,
                    whole.lost_seconds.data_wait,
                )
            )
            assert useful <= trained + 0.05 * (1 + len(self.worlds))

    @invariant()
    def no_time_moves_that_was_entered(self) -> None:
        for world in self.status.history:
            for name in ("published_at", "first_step_at", "ended_at"):
                at = getattr(world, name)
                if at is not None:
                    assert self.entered.setdefault((world.number, name), at) == at


TestLivesOfLostCoordinators = LivesOfLostCoordinators.TestCase
TestLivesOfLostCoordinators.settings = settings(
    max_examples=40, stateful_step_count=50, deadline=None
)
TestLives = Lives.TestCase
TestLives.settings = settings(max_examples=60, stateful_step_count=60, deadline=None)
