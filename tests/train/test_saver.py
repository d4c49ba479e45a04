"""Saves beside training: what is committed, when it is asked for, and what an absence changes."""

import logging
import queue
from pathlib import Path

import pytest
import torch

from spotrain.checkpoints.retention import Retention
from spotrain.train.checkpoint import Catalogue, CheckpointId
from spotrain.train.parts import plan
from spotrain.train.saver import Done, Outcome, Save, Saver
from spotrain.train.solo import SoloChannel

LIMIT = 60.0
"""Against hanging only."""


class ScriptedChannel(SoloChannel):
    """Answers commits as a test says, one answer a question."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: queue.Queue[tuple[int, int]] = queue.Queue()
        self.answers: queue.Queue[bool | None] = queue.Queue()
        self.told: list[tuple[int, int]] = []

    def ask_commit(self, world: int, step: int, *, timeout_seconds: float) -> bool | None:
        self.asked.put((world, step))
        return self.answers.get(timeout=LIMIT)

    def saved(self, world: int, step: int) -> None:
        self.told.append((world, step))


@pytest.fixture
def catalogue(tmp_path: Path) -> Catalogue:
    return Catalogue(tmp_path / "checkpoints")


@pytest.fixture
def channel() -> ScriptedChannel:
    return ScriptedChannel()


@pytest.fixture
def saver(catalogue: Catalogue, channel: ScriptedChannel) -> Saver:
    return Saver(catalogue, channel, Retention(keep=2))


def save_of(step: int, weights: torch.Tensor, world: int = 1) -> Save:
    return Save(
        id=CheckpointId(world, step),
        part=plan({"weights": weights, "optimizer": {"state": {0: {"step": step}}}}),
        epoch=0,
        cursor=step,
        parent=None,
        extra={},
    )


def folders(catalogue: Catalogue) -> list[str]:
    return [name for name in catalogue.store.folders() if name != "history"]


def test_training_goes_on_and_the_checkpoint_holds_the_state_of_its_step(
    catalogue: Catalogue, channel: ScriptedChannel, saver: Saver
) -> None:
    weights = torch.zeros(1000)
    saver.start(save_of(5, weights))
    weights += 1  # the next step
    channel.answers.put(True)
    assert saver.wait() == Done(CheckpointId(1, 5), Outcome.PUBLISHED)
    newest = catalogue.newest_intact()
    assert newest is not None
    state = catalogue.load(newest)
    assert torch.equal(state["weights"], torch.zeros(1000))
    assert state["optimizer"] == {"state": {0: {"step": 5}}}
    assert channel.told == [(1, 5)]


def test_a_commit_is_asked_for_when_the_data_is_complete_and_named_by_nothing(
    catalogue: Catalogue, channel: ScriptedChannel, saver: Saver
) -> None:
    saver.start(save_of(5, torch.zeros(1000)))
    assert channel.asked.get(timeout=LIMIT) == (1, 5)
    assert len(folders(catalogue)) == 1
    assert catalogue.manifests() == []
    channel.answers.put(True)
    saver.wait()
    newest = catalogue.newest_intact()
    assert newest is not None
    assert newest.id == CheckpointId(1, 5)


def test_a_commit_that_nobody_answers_is_asked_for_again_while_training_goes_on(
    catalogue: Catalogue, channel: ScriptedChannel, saver: Saver
) -> None:
    saver.start(save_of(5, torch.zeros(10)))
    for answer in (None, None, True):
        channel.asked.get(timeout=LIMIT)
        channel.answers.put(answer)
    assert saver.wait() == Done(CheckpointId(1, 5), Outcome.PUBLISHED)


def test_without_a_coordinator_a_save_stays_uncommitted_and_the_next_one_covers_it(
    catalogue: Catalogue,
    channel: ScriptedChannel,
    saver: Saver,
    caplog: pytest.LogCaptureFixture,
) -> None:
    saver.start(save_of(5, torch.zeros(10)))
    channel.answers.put(None)
    saver.hurry()
    assert saver.wait() == Done(CheckpointId(1, 5), Outcome.UNANSWERED)
    assert "w000001-s00000005 stays uncommitted: the coordinator does not answer" in caplog.text
    assert folders(catalogue) == []
    saver.start(save_of(9, torch.zeros(10)))
    channel.answers.put(True)
    assert saver.wait() == Done(CheckpointId(1, 9), Outcome.PUBLISHED)


def test_a_planned_change_does_not_wait_for_a_coordinator_that_is_away(
    channel: ScriptedChannel, saver: Saver
) -> None:
    channel.answers.put(None)
    save = save_of(5, torch.zeros(10))
    assert saver.save_now(save, patience_seconds=0).outcome is Outcome.UNANSWERED


def test_the_last_save_waits_for_a_coordinator_that_comes_back(
    channel: ScriptedChannel, saver: Saver
) -> None:
    channel.answers.put(None)
    channel.answers.put(True)
    save = save_of(5, torch.zeros(10))
    assert saver.save_now(save, patience_seconds=LIMIT).outcome is Outcome.PUBLISHED


def test_a_refused_save_leaves_nothing_behind(
    catalogue: Catalogue, channel: ScriptedChannel, saver: Saver
) -> None:
    saver.start(save_of(5, torch.zeros(10)))
    channel.answers.put(False)
    assert saver.wait() == Done(CheckpointId(1, 5), Outcome.REFUSED)
    assert folders(catalogue) == []
    assert channel.told == []


def test_the_save_of_a_world_that_is_over_is_not_asked_for_again(
    catalogue: Catalogue, channel: ScriptedChannel, saver: Saver
) -> None:
    saver.start(save_of(5, torch.zeros(10)))
    channel.asked.get(timeout=LIMIT)
    saver.abandon()
    channel.answers.put(None)
    done = saver.wait()
    assert done is not None
    assert done.outcome is Outcome.UNANSWERED
    assert folders(catalogue) == []
    assert channel.asked.empty()


def test_a_save_that_cannot_be_written_is_said_and_stops_nothing(
    catalogue: Catalogue, saver: Saver, caplog: pytest.LogCaptureFixture
) -> None:
    Path(str(catalogue.store)).write_text("in the way")
    saver.start(save_of(5, torch.zeros(10)))
    assert saver.wait() == Done(CheckpointId(1, 5), Outcome.FAILED)
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    assert "w000001-s00000005 could not be written" in caplog.text


def test_a_store_that_cannot_be_listed_after_a_save_stops_nothing(
    catalogue: Catalogue,
    channel: ScriptedChannel,
    saver: Saver,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fails(*_: object) -> list[str]:
        raise OSError(5, "Input/output error")

    channel.answers.put(True)
    with monkeypatch.context() as patched:
        patched.setattr(type(catalogue.store), "files", fails)
        saver.start(save_of(5, torch.zeros(10)))
        done = saver.wait()
    assert done
    assert done.outcome is Outcome.PUBLISHED
    assert "old checkpoints stay for now" in caplog.text
    assert [manifest.id for manifest in catalogue.manifests()] == [CheckpointId(1, 5)]


def test_two_saves_never_run_at_once(channel: ScriptedChannel, saver: Saver) -> None:
    saver.start(save_of(5, torch.zeros(10)))
    assert saver.is_busy
    with pytest.raises(AssertionError):
        saver.start(save_of(6, torch.zeros(10)))
    channel.answers.put(True)
    saver.wait()
    assert not saver.is_busy
