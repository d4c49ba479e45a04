"""What an agent does about what it hears, without processes, sockets to anyone, or time."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from torch.distributed.elastic.agent.server.api import RunResult, WorkerState

from spotrain.agent.control import RankMessage
from spotrain.agent.environment import Identity
from spotrain.agent.events import hand_to
from spotrain.agent.local_ranks import LocalRanks
from spotrain.agent.notices import RELEASE_SECONDS, Left, Notice
from spotrain.agent.processes import Place
from spotrain.agent.stages import Stage
from spotrain.agent.ways import Way, read_ways
from spotrain.agent.worker import (
    LAST_MESSAGES_SECONDS,
    LEAVE_SECONDS,
    LOSS_TERM_SECONDS,
    Worker,
)
from spotrain.coordinator import protocol

ME = Identity(job="a/b/c", pod="me", address="127.0.0.1", grace_seconds=30)
SEATS = (
    protocol.SeatInfo(id="me", address="127.0.0.1", ranks=1),
    protocol.SeatInfo(id="peer", address="127.0.0.1", ranks=1),
)


@dataclass
class Processes:
    """Stands for the local processes, and keeps what was done to them."""

    count: int = 1
    running: bool = False
    is_importing: bool = False
    shutdown_seconds: int = 30
    done: list[str] = field(default_factory=list)
    ended: RunResult | None = None
    exited: set[int] = field(default_factory=set)
    errors: dict[int, str] = field(default_factory=dict)

    def start(self, place: Place | None, control: Path) -> None:
        self.running = True
        self.done.append(f"start in world {place.world}" if place else "start ahead")

    def stop(self, *, seconds: float) -> None:
        if self.running:
            self.running = False
            self.done.append(f"stop within {seconds:g}")

    def kill(self) -> None:
        self.running = False
        self.done.append("kill")

    def poll(self) -> RunResult | None:
        ended, self.ended = self.ended, None
        if ended is not None:
            self.running = False
        return ended

    def success(self) -> RunResult:
        return RunResult(state=WorkerState.SUCCEEDED)

    def exited_with_0(self) -> set[int]:
        return self.exited

    def reported_errors(self) -> dict[int, str]:
        return self.errors


class Scene:
    """A worker, what is done to its processes, and what it says."""

    def __init__(self, ways: frozenset[Way] = frozenset(Way)) -> None:
        self.now = 0.0
        self.connected = True
        self.said: list[protocol.FromAgent] = []
        self.processes = Processes()
        self.ranks = LocalRanks(
            self.processes,  # type: ignore[arg-type]
            lambda message: None,
            sleep=lambda seconds: self.processes.done.append(f"wait {seconds:g}"),
        )
        self.worker = Worker(ME, self.ranks, self._send, clock=lambda: self.now, ways=ways)

    def _send(self, message: protocol.FromAgent) -> bool:
        self.said.append(message)
        return self.connected

    def hear(self, message: protocol.FromCoordinator | Notice) -> None:
        hand_to(self.worker, message)

    def world(self, number: int) -> None:
        self.hear(protocol.NewWorld(number=number, seats=SEATS, store_port=1, restore=None))

    def rank_says(self, kind: str, **fields: Any) -> None:
        control: Any = self.ranks._control
        hand_to(self.worker, RankMessage(control, 0, kind, fields))

    def after(self, seconds: float) -> None:
        self.now += seconds
        self.worker.watch()


@pytest.fixture
def scene() -> Scene:
    return Scene()


@pytest.fixture
def plain(scene: Scene) -> Scene:
    """A script that does not use the library, in world 1."""
    scene.hear(protocol.Welcome(version=protocol.VERSION, uses_session=None))
    scene.world(1)
    return scene


@pytest.fixture
def session(plain: Scene) -> Scene:
    """A script that uses the library, in world 1."""
    plain.rank_says("arrive", survivor=False, floor=0)
    return plain


def test_a_plain_script_is_started_with_its_world_and_anew_with_the_next(plain: Scene) -> None:
    plain.hear(protocol.Drain(world=1, seconds=60.0, reason="growth"))
    plain.world(2)
    assert plain.processes.done == [
        "start in world 1",
        "wait 0.2",
        "stop within 29.8",
        "start in world 2",
    ]
    assert protocol.Drained(world=1) in plain.said


def test_a_newcomer_is_ready_once_it_has_imported_what_the_others_would_wait_for(
    scene: Scene,
) -> None:
    scene.processes.is_importing = True
    scene.hear(protocol.Welcome(version=protocol.VERSION, uses_session=False))
    scene.after(1.0)
    assert scene.said == [protocol.Starting(world=0)]
    scene.processes.is_importing = False
    scene.after(0.05)
    scene.after(0.05)
    assert [type(message) for message in scene.said] == [protocol.Starting, protocol.Ready]


def test_an_agent_that_comes_back_while_it_imports_is_ready_once(scene: Scene) -> None:
    scene.processes.is_importing = True
    for _ in range(2):
        scene.hear(protocol.Welcome(version=protocol.VERSION, uses_session=False))
    scene.processes.is_importing = False
    scene.after(0.05)
    scene.after(0.05)
    assert [type(message) for message in scene.said].count(protocol.Ready) == 1


def test_a_world_that_comes_while_it_imports_is_entered(scene: Scene) -> None:
    scene.processes.is_importing = True
    scene.hear(protocol.Welcome(version=protocol.VERSION, uses_session=False))
    scene.world(1)
    scene.processes.is_importing = False
    scene.after(0.05)
    assert scene.processes.done == ["start in world 1"]
    assert protocol.Ready not in [type(message) for message in scene.said]


def test_errors_of_a_planned_stop_are_announced_before_they_can_come(
    plain: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    plain.hear(protocol.Drain(world=1, seconds=0.4, reason="notice"))
    assert "world 1 is left as planned; errors" in caplog.text
    assert plain.processes.done[1:] == ["wait 0.1", "stop within 0.3"]
    assert not [message for message in plain.said if isinstance(message, protocol.Failed)]


def test_a_script_with_the_library_goes_through_a_drain_in_its_process(session: Scene) -> None:
    session.hear(protocol.Drain(world=1, seconds=60.0, reason="growth"))
    session.rank_says("drained", world=1)
    session.rank_says("arrive", survivor=True, floor=0)
    assert session.worker.stage is Stage.WAITING
    session.world(2)
    assert session.processes.done == ["start in world 1"]


def test_survivors_of_a_loss_that_leave_in_time_live_on(session: Scene) -> None:
    session.hear(protocol.Restart(world=1))
    session.rank_says("broken", world=1, message="a peer is gone", excused=True)
    session.rank_says("arrive", survivor=True, floor=0)
    session.after(2 * LEAVE_SECONDS)
    assert session.worker.stage is Stage.WAITING
    assert session.processes.done == ["start in world 1"]


def test_ranks_that_leave_a_broken_world_too_slowly_are_killed(session: Scene) -> None:
    session.hear(protocol.Restart(world=1))
    session.after(LEAVE_SECONDS + 0.1)
    assert session.processes.done[1:] == ["kill", "start ahead"]
    assert session.worker.stage is Stage.STARTING


def test_what_is_said_of_an_older_world_changes_nothing(session: Scene) -> None:
    session.world(2)
    said = len(session.said)
    session.hear(protocol.Restart(world=1))
    session.hear(protocol.Drain(world=1, seconds=60.0, reason="growth"))
    session.rank_says("broken", world=1, message="old", excused=False)
    assert (session.worker.stage, len(session.said)) == (Stage.TRAINING, said)


def test_a_notice_outside_a_world_ends_the_worker_at_once(scene: Scene) -> None:
    with pytest.raises(Left):
        scene.hear(Notice())


def test_on_notice_the_ranks_of_a_broken_world_end_soon_for_the_others_wait_until_they_have(
    session: Scene,
) -> None:
    session.hear(Notice())
    with pytest.raises(Left):
        session.hear(protocol.Restart(world=1))
    assert session.processes.done[-1] == f"stop within {LOSS_TERM_SECONDS:g}"


def test_a_drained_worker_on_notice_leaves_without_its_release(session: Scene) -> None:
    session.hear(Notice())
    session.hear(protocol.Drain(world=1, seconds=60.0, reason="growth"))
    session.rank_says("drained", world=1)
    session.after(RELEASE_SECONDS / 2)
    with pytest.raises(Left):
        session.after(RELEASE_SECONDS)


def test_a_notice_that_runs_out_ends_the_worker_before_it_is_killed(session: Scene) -> None:
    session.hear(Notice())
    session.after(0.8 * ME.grace_seconds)
    with pytest.raises(Left):
        session.after(0.15 * ME.grace_seconds)


def test_a_job_that_closes_after_a_failure_starts_no_rank_anew(session: Scene) -> None:
    session.processes.ended = RunResult(state=WorkerState.FAILED)
    session.after(0)
    session.hear(protocol.Closed(outcome="failed", message="no restarts left"))
    assert session.processes.done == ["start in world 1"]
    assert session.worker.result is not None
    assert session.worker.result.is_failed()


def test_a_failed_rank_is_started_anew_ahead_of_the_next_world(session: Scene) -> None:
    session.processes.ended = RunResult(state=WorkerState.FAILED)
    session.after(0)
    session.after(1)
    assert session.processes.done == ["start in world 1", "start ahead"]


def exit_with_0(scene: Scene) -> None:
    scene.processes.exited = {0}
    scene.processes.ended = RunResult(state=WorkerState.SUCCEEDED)


def test_an_exit_with_0_after_training_has_returned_is_a_finish(session: Scene) -> None:
    exit_with_0(session)
    session.after(0)
    assert session.worker.stage is Stage.TRAINING, "its last messages are still to be read"
    session.rank_says("trained", world=1)
    session.after(0)
    assert session.said[-2:] == [protocol.Trained(world=1), protocol.Finished(world=1)]


def test_an_exit_with_0_before_training_has_returned_is_a_failure(session: Scene) -> None:
    exit_with_0(session)
    session.rank_says("disconnected")
    session.after(0)
    (failed,) = [message for message in session.said if isinstance(message, protocol.Failed)]
    assert failed.message == "local rank 0 exited with code 0 before elastic.run had returned"
    assert (failed.hard, failed.cause) == (True, "deserted")


def test_a_child_that_holds_the_channel_open_does_not_hide_an_early_exit(session: Scene) -> None:
    exit_with_0(session)
    session.after(0)
    session.after(LAST_MESSAGES_SECONDS)
    assert isinstance(session.said[-1], protocol.Failed)


@pytest.mark.parametrize("is_asked_first", [True, False])
def test_a_finished_agent_takes_part_in_the_next_world_where_others_failed(
    session: Scene, is_asked_first: bool
) -> None:
    session.rank_says("trained", world=1)
    exit_with_0(session)
    session.hear(protocol.Restart(world=1)) if is_asked_first else None
    session.after(0)
    session.hear(protocol.Restart(world=1)) if not is_asked_first else None
    assert session.processes.done[-1] == "start ahead"
    assert session.said[-2:] == [protocol.Finished(world=1), protocol.Starting(world=1)]


def test_a_finished_plain_script_is_started_again_where_others_failed(plain: Scene) -> None:
    exit_with_0(plain)
    plain.after(0)
    plain.hear(protocol.Restart(world=1))
    plain.world(2)
    assert plain.processes.done[-1] == "start in world 2"


def test_a_plain_script_that_is_ended_reports_the_exception_that_it_raised(plain: Scene) -> None:
    plain.processes.errors = {0: "ValueError: label 11"}
    plain.hear(protocol.Restart(world=1))
    (failed,) = [message for message in plain.said if isinstance(message, protocol.Failed)]
    assert (failed.message, failed.cause) == ("local rank 0 failed: ValueError: label 11", "error")


def test_a_rank_that_only_lost_its_peer_explains_nothing(plain: Scene) -> None:
    plain.processes.errors = {0: "RuntimeError: [gloo] Connection closed by peer [127.0.0.1]:1"}
    plain.hear(protocol.Restart(world=1))
    assert not [message for message in plain.said if isinstance(message, protocol.Failed)]


def test_a_rank_is_told_at_once_that_the_coordinator_is_away(
    session: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: list[dict[str, Any]] = []
    monkeypatch.setattr(session.ranks, "answer", lambda rank, **fields: answers.append(fields))
    session.connected = False
    session.rank_says("commit", world=1, step=5)
    assert answers == [{"world": 1, "step": 5, "accepted": None}]


def in_world_1(ways: frozenset[Way]) -> Scene:
    scene = Scene(ways)
    scene.hear(protocol.Welcome(version=protocol.VERSION, uses_session=True))
    scene.rank_says("arrive", survivor=False, floor=0)
    scene.world(1)
    scene.processes.done.clear()
    return scene


def test_where_no_process_may_live_on_a_drained_one_is_replaced() -> None:
    scene = in_world_1(frozenset({Way.WARM}))
    scene.hear(protocol.Drain(world=1, seconds=60.0, reason="growth"))
    scene.rank_says("drained", world=1)
    assert scene.processes.done == ["kill", "start ahead"]
    assert protocol.Drained(world=1) in scene.said


def test_where_no_process_may_live_on_one_that_leaves_for_good_is_not_replaced() -> None:
    scene = in_world_1(frozenset())
    scene.hear(Notice())
    scene.hear(protocol.Drain(world=1, seconds=60.0, reason="notice"))
    scene.rank_says("drained", world=1)
    assert scene.processes.done == []


def test_where_train_may_not_be_called_again_a_loss_replaces_the_process() -> None:
    scene = in_world_1(frozenset({Way.IN_PLACE}))
    scene.hear(protocol.Restart(world=1))
    assert scene.processes.done == ["kill", "start ahead"]


def test_where_train_may_not_be_called_again_a_rank_of_a_broken_world_is_replaced() -> None:
    scene = in_world_1(frozenset({Way.IN_PLACE}))
    scene.rank_says("broken", world=1, message="a peer is gone", excused=True)
    assert scene.processes.done == ["kill", "start ahead"]
    scene.hear(protocol.Restart(world=1))
    assert scene.processes.done == ["kill", "start ahead"]


@pytest.mark.parametrize(
    ("text", "ways"),
    [
        pytest.param(None, set(Way), id="unset"),
        pytest.param("call-again, warm", {Way.CALL_AGAIN, Way.WARM}, id="some"),
        pytest.param("cold", set(), id="none"),
    ],
)
def test_the_environment_names_the_ways_back(text: str | None, ways: set[Way]) -> None:
    assert read_ways({} if text is None else {"SPOTRAIN_WAYS_BACK": text}) == ways


def test_a_way_back_that_does_not_exist_is_refused_with_those_that_do() -> None:
    with pytest.raises(ValueError, match=r"names 'hot', .*in-place, call-again, warm"):
        read_ways({"SPOTRAIN_WAYS_BACK": "hot"})
