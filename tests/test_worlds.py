"""The world state machine: what it promises, for hand-picked stories and for random ones."""

from dataclasses import replace
from typing import TypeVar

import pytest

from spotrain import worlds
from spotrain.worlds import Checkpoint, Limits, MemberState, Phase, Reason

LIMITS = Limits(min_size=1, max_size=3, desired_size=3, growth_delay_seconds=10, max_restarts=1)


Said = TypeVar("Said", bound=worlds.Command)


class Story:
    """A job's state with the commands of the last event; numbers are made durable at once."""

    def __init__(self, limits: Limits = LIMITS, *, number: int = 0) -> None:
        self.now = 0.0
        self.state = worlds.start(limits, number=number, now=self.now)
        self.commands: list[worlds.Command] = []
        self.published: list[worlds.World] = []

    def on(self, *events: worlds.Event) -> "Story":
        self.commands = []
        for event in events:
            self._take(event)
        return self

    def _take(self, event: worlds.Event) -> None:
        self.state, commands = worlds.on(self.state, event, self.now)
        self.commands += commands
        for command in commands:
            if isinstance(command, worlds.Record):
                self._take(worlds.Recorded(number=command.number))
            if isinstance(command, worlds.Publish):
                self.published.append(command.world)

    def pass_time(self, seconds: float) -> "Story":
        self.now += seconds
        return self.on(worlds.Tick())

    def join(self, *ids: str, ready: bool = True) -> "Story":
        for id in ids:
            self.on(worlds.Joined(id=id, address=f"addr-{id}", ranks=1))
        return self.on(*(worlds.Ready(id=id, port=7000) for id in ids if ready))

    def drain(self, *ids: str, ready: bool = True) -> "Story":
        """The members stop at the agreed step, and get ready for the next world."""
        number = self.world.number
        events: list[worlds.Event] = [worlds.Drained(id=id, world=number) for id in ids]
        if ready:
            events += [worlds.Ready(id=id, port=7001, survivor=True) for id in ids]
        return self.on(*events)

    @property
    def world(self) -> worlds.World:
        return self.published[-1]

    def said(self, kind: type[Said]) -> list[Said]:
        return [command for command in self.commands if isinstance(command, kind)]


def running(*ids: str, limits: Limits = LIMITS) -> Story:
    story = Story(limits).join(*ids)
    if not story.published:
        story.pass_time(limits.gather_seconds)
    assert story.world.ids == ids
    return story


def test_the_first_world_forms_as_soon_as_all_desired_members_are_ready() -> None:
    assert Story().join("a", "b", "c").world.ids == ("a", "b", "c")


@pytest.mark.acceptance(28)
def test_the_first_world_waits_for_missing_members_but_not_for_ever() -> None:
    story = Story().join("a")
    assert story.published == []
    assert story.pass_time(LIMITS.gather_seconds).world.ids == ("a",)


def test_below_the_minimum_no_world_forms_however_long_it_takes() -> None:
    story = Story(replace(LIMITS, min_size=2)).join("a")
    assert story.pass_time(1000).published == []


def test_a_number_is_durable_before_its_world_is_published() -> None:
    state = worlds.start(replace(LIMITS, desired_size=1))
    joined = worlds.Joined(id="a", address="a", ranks=1)
    state, _ = worlds.on(state, joined, 0.0)
    state, commands = worlds.on(state, worlds.Ready(id="a", port=1), 0.0)
    assert commands == [worlds.Record(number=1)]
    state, commands = worlds.on(state, worlds.Recorded(number=1), 0.0)
    assert [type(command) for command in commands] == [worlds.Publish]


def test_a_member_that_goes_while_the_number_is_written_is_not_in_the_world() -> None:
    state = worlds.start(replace(LIMITS, desired_size=2))
    for id in "ab":
        state, _ = worlds.on(state, worlds.Joined(id=id, address=id, ranks=1), 0.0)
    for id in "ab":
        state, commands = worlds.on(state, worlds.Ready(id=id, port=1), 0.0)
    assert commands == [worlds.Record(number=1)]
    state, _ = worlds.on(state, worlds.Lost(id="a"), 0.0)
    state, commands = worlds.on(state, worlds.Recorded(number=1), 0.0)
    assert not [command for command in commands if isinstance(command, worlds.Publish)]
    state, commands = worlds.on(state, worlds.Tick(), LIMITS.gather_seconds + 1)
    assert commands == [worlds.Record(number=2)]


@pytest.mark.acceptance(28)
def test_newcomers_are_gathered_into_one_planned_growth() -> None:
    story = running("a")
    story.join("b")
    story.now += 9
    story.join("c")
    assert story.said(worlds.AskDrain) == []
    story.pass_time(1)
    assert [command.reason for command in story.said(worlds.AskDrain)] == [Reason.GROWTH]
    assert story.drain("a").world.ids == ("a", "b", "c")


@pytest.mark.acceptance(20)
def test_a_notice_drains_at_once_and_takes_waiting_newcomers_along() -> None:
    story = running("a", "b", "c").join("d")
    story.on(worlds.Leaving(id="b", seconds=90))
    assert [command.ids for command in story.said(worlds.AskDrain)] == [("a", "b", "c")]
    story.drain("b", ready=False).drain("a", "c")
    assert story.world.ids == ("a", "c", "d")


@pytest.mark.acceptance(20)
def test_a_member_on_notice_is_released_only_when_all_have_stopped() -> None:
    story = running("a", "b", "c").on(worlds.Leaving(id="b", seconds=90))
    assert story.drain("b", ready=False).drain("a").said(worlds.Release) == []
    assert story.drain("c").said(worlds.Release) == [worlds.Release(world=1, ids=("b",))]


@pytest.mark.acceptance(21)
def test_survivors_keep_their_order_so_that_rank_0_has_the_newest_state() -> None:
    story = running("a", "b", "c").on(worlds.Lost(id="a"))
    story.on(*(worlds.Ready(id=id, port=1, survivor=True) for id in "cb"))
    assert story.world.ids == ("b", "c")


def test_a_new_world_waits_until_every_survivor_has_left_the_old_one() -> None:
    story = running("a", "b", "c").on(worlds.Lost(id="a"))
    story.on(worlds.Ready(id="b", port=1, survivor=True))
    assert len(story.published) == 1
    story.on(worlds.Ready(id="c", port=1, survivor=True))
    assert story.world.ids == ("b", "c")


def test_survivors_do_not_wait_for_a_member_whose_process_must_start_anew() -> None:
    story = running("a", "b", "c")
    story.on(worlds.Failed(id="a", world=1, hard=True, message="killed"))
    story.on(*(worlds.Ready(id=id, port=1, survivor=True) for id in "bc"))
    assert story.world.ids == ("b", "c")


def test_who_was_in_the_last_world_does_not_wait_for_a_newcomers_imports() -> None:
    story = running("a", "b")
    story.on(worlds.Joined(id="c", address="c", ranks=1), worlds.Starting(id="c"))
    story.on(worlds.Lost(id="a"), worlds.Ready(id="b", port=1, survivor=False))
    assert story.world.ids == ("b",)


def test_after_a_failure_all_of_the_last_world_wait_for_each_others_imports() -> None:
    story = running("a", "b").on(worlds.Failed(id="a", world=1, hard=True, message="killed"))
    story.on(worlds.Starting(id="b"), worlds.Ready(id="a", port=1, survivor=False))
    assert len(story.published) == 1
    story.on(worlds.Ready(id="b", port=1, survivor=False))
    assert story.world.ids == ("a", "b")


@pytest.mark.acceptance(21)
def test_a_loss_tells_every_survivor_to_leave_at_once() -> None:
    story = running("a", "b", "c").on(worlds.Lost(id="b"))
    assert story.said(worlds.Restart) == [worlds.Restart(world=1, ids=("a", "c"))]


def test_a_drain_past_its_deadline_becomes_a_loss() -> None:
    story = running("a", "b").on(worlds.Leaving(id="b", seconds=20))
    story.drain("b", ready=False).pass_time(14.9)
    assert story.said(worlds.Restart) == []
    story.pass_time(0.2)
    assert story.said(worlds.Restart) == [worlds.Restart(world=1, ids=("a", "b"))]
    assert story.said(worlds.Ended) == [
        worlds.Ended(world=1, reason=Reason.LOSS, message="the planned stop passed its deadline")
    ]


def test_a_second_shorter_notice_shortens_the_drain() -> None:
    story = running("a", "b", "c").on(worlds.Leaving(id="b", seconds=80))
    story.on(worlds.Leaving(id="c", seconds=8)).pass_time(6.1)
    assert story.said(worlds.Restart) == [worlds.Restart(world=1, ids=("a", "b", "c"))]


def test_a_loss_overrides_the_failures_that_it_causes() -> None:
    story = running("a", "b", "c")
    story.on(worlds.Failed(id="b", world=1, hard=False, message="connection reset"))
    story.on(worlds.Ready(id="b", port=1, survivor=True))
    story.on(worlds.Lost(id="a"))
    story.on(worlds.Ready(id="c", port=1, survivor=True))
    assert story.state.restarts == 0
    assert story.world.ids == ("b", "c")


def test_failures_without_a_loss_count_once_a_world_and_end_the_job_at_the_limit() -> None:
    story = running("a", "b", limits=replace(LIMITS, desired_size=2))
    for number in (1, 2):
        for id in "ab":
            story.on(worlds.Failed(id=id, world=number, hard=True, message="ValueError: no"))
        if number == 1:
            assert story.state.restarts == 1
            story.on(*(worlds.Ready(id=id, port=1) for id in "ab"))
    assert story.state.outcome == "failed"
    assert "ValueError: no" in story.state.message


def test_commits_are_accepted_from_members_of_the_current_world_only() -> None:
    def answer(story: Story, id: str, world: int) -> bool:
        story.on(worlds.CommitAsked(id=id, checkpoint=Checkpoint(world, 5)))
        (said,) = story.said(worlds.AnswerCommit)
        return said.accepted is True

    story = running("a", "b", "c")
    assert answer(story, "a", 1)
    assert not answer(story, "a", 2)
    assert not answer(story, "z", 1)
    story.on(worlds.Lost(id="b"))
    assert not answer(story, "a", 1)
    story.on(*(worlds.Ready(id=id, port=1, survivor=True) for id in "ac"))
    assert answer(story, "a", 2)
    assert not answer(story, "a", 1)


def test_a_draining_world_may_still_commit() -> None:
    story = running("a", "b").on(worlds.Leaving(id="b", seconds=90))
    story.on(worlds.CommitAsked(id="a", checkpoint=Checkpoint(1, 9)))
    assert story.said(worlds.AnswerCommit) == [
        worlds.AnswerCommit(id="a", checkpoint=Checkpoint(1, 9), accepted=True)
    ]


def test_a_world_names_the_newest_checkpoint_that_was_written() -> None:
    story = running("a", "b", "c").on(worlds.Saved(checkpoint=Checkpoint(1, 40)))
    story.on(worlds.Saved(checkpoint=Checkpoint(1, 20)), worlds.Lost(id="c"))
    story.on(*(worlds.Ready(id=id, port=1, survivor=True) for id in "ab"))
    assert story.world.restore == Checkpoint(1, 40)


def test_only_allowed_sizes_form_and_a_spare_replaces_a_lost_member_at_once() -> None:
    limits = replace(LIMITS, max_size=4, desired_size=3, allowed_sizes=(2, 4))
    story = Story(limits).join("a", "b", "c")
    assert story.world.ids == ("a", "b")
    story.on(worlds.Lost(id="a"), worlds.Ready(id="b", port=1, survivor=True))
    assert story.world.ids == ("b", "c")


def test_a_lowered_maximum_shrinks_the_world_with_a_drain() -> None:
    story = running("a", "b", "c")
    story.on(worlds.LimitsChanged(limits=replace(LIMITS, max_size=2)))
    assert story.drain("a", "b", "c").world.ids == ("a", "b")


def test_the_job_succeeds_when_every_member_has_finished() -> None:
    story = running("a", "b", "c").on(worlds.Finished(id="a", world=1))
    assert story.state.outcome == ""
    story.on(worlds.Finished(id="b", world=1), worlds.Finished(id="c", world=1))
    assert story.said(worlds.Close)
    assert story.state.outcome == "succeeded"


def test_no_world_changes_as_planned_once_a_member_has_finished() -> None:
    story = running("a", "b").on(worlds.Finished(id="a", world=1))
    story.join("c").on(worlds.Leaving(id="b", seconds=90)).pass_time(100)
    assert story.said(worlds.AskDrain) == []
    assert story.state.phase is Phase.RUNNING


FINISHED = worlds.Finished(id="a", world=1)
FAILED = worlds.Failed(id="b", world=1, hard=True, message="disk full", cause=worlds.Cause.EXIT)
BROKEN = worlds.Failed(id="b", world=1, hard=False, message="a peer is gone")
LOST = worlds.Lost(id="b")


@pytest.mark.parametrize("other", [FAILED, BROKEN, LOST], ids=["failure", "break", "loss"])
@pytest.mark.parametrize("finishes_first", [True, False])
def test_a_world_of_which_one_member_finished_and_another_did_not_is_trained_again(
    other: worlds.Event, finishes_first: bool
) -> None:
    events = [FINISHED, other] if finishes_first else [other, FINISHED]
    story, said = running("a", "b"), []
    for event in events:
        said += story.on(event).commands
    assert story.state.outcome == ""
    (restart,) = [command for command in said if isinstance(command, worlds.Restart)]
    assert "a" in restart.ids, "the finished member is asked to join the next world"
    story.join("b", ready=False) if other is LOST else None
    story.on(worlds.Starting(id="a", world=1))
    story.on(*(worlds.Ready(id=id, port=1, world=1) for id in "ab"))
    assert (story.world.number, sorted(story.world.ids)) == (2, ["a", "b"])
    assert story.state.restarts == (0 if other is LOST else 1)
    story.on(*(worlds.Finished(id=id, world=2) for id in "ab"))
    assert story.state.outcome == "succeeded"


def test_a_failure_after_a_peer_finished_names_both() -> None:
    limits = replace(LIMITS, max_restarts=0)
    story = running("a", "b", limits=limits).on(FINISHED, FAILED)
    story.on(*(worlds.Starting(id=id, world=1) for id in "ab"))
    assert story.state.outcome == "failed"
    assert story.state.message.startswith("disk full (after a had finished)")


def test_a_member_that_finished_and_is_gone_has_finished() -> None:
    story = running("a", "b").on(FINISHED, worlds.Lost(id="a"))
    assert story.state.phase is Phase.RUNNING
    assert story.on(worlds.Finished(id="b", world=1)).state.outcome == "succeeded"


def test_members_that_all_finished_in_a_world_that_a_connection_broke_have_finished() -> None:
    story = running("a", "b").on(LOST, FINISHED)
    joined = worlds.Joined(id="b", address="b", ranks=1, claim=story.world, finished=True)
    assert story.on(joined).state.outcome == "succeeded"


def test_a_member_that_finished_and_returns_after_a_loss_is_asked_to_join_the_next_world() -> None:
    story = running("a", "b", "c").on(worlds.Lost(id="a"), worlds.Lost(id="b"))
    joined = worlds.Joined(id="a", address="a", ranks=1, claim=story.world, finished=True)
    assert story.on(joined).said(worlds.Restart) == [worlds.Restart(world=1, ids=("a",))]
    assert story.state.outcome == ""


def test_a_world_that_was_stopped_as_planned_while_a_member_finished_is_no_success() -> None:
    story = running("a", "b").join("c").pass_time(LIMITS.growth_delay_seconds)
    assert story.state.phase is Phase.DRAINING
    story.on(worlds.Finished(id="a", world=1), worlds.Drained(id="b", world=1))
    assert story.state.outcome == ""
    assert [command.ids for command in story.said(worlds.Restart)] == [("a", "b")]
    story.on(worlds.Starting(id="a", world=1))
    story.on(*(worlds.Ready(id=id, port=1, world=1) for id in "ab"))
    assert story.world.number == 2


def test_after_training_is_done_a_world_without_steps_does_not_hang() -> None:
    story = running("a", "b").on(worlds.Trained(id="a", world=1))
    story.on(worlds.Stalled(world=1, message="no step"))
    assert story.state.phase is Phase.RUNNING
    story.on(*(worlds.Finished(id=id, world=1) for id in "ab"))
    assert story.state.outcome == "succeeded"


def test_a_world_that_closes_says_so_once() -> None:
    story = running("a").on(FINISHED)
    assert [type(command) for command in story.commands] == [worlds.Ended, worlds.Close]
    failed = running("a", limits=replace(LIMITS, max_restarts=0))
    failed.on(replace(FAILED, id="a"))
    kinds = [type(command) for command in failed.commands]
    assert (kinds.count(worlds.Ended), kinds.count(worlds.Close)) == (1, 1)


@pytest.mark.parametrize("root_first", [True, False])
def test_the_verdict_is_the_message_that_explains_most(root_first: bool) -> None:
    root = replace(FAILED, message="ValueError: bad label", cause=worlds.Cause.ERROR)
    symptom = replace(BROKEN, id="a", message="gloo: Connection closed by peer")
    story = running("a", "b", limits=replace(LIMITS, max_restarts=0))
    story.on(*([root, symptom] if root_first else [symptom, root]))
    story.on(worlds.Ready(id="a", port=1, world=1))
    story.on(worlds.Starting(id="b", world=1))
    assert story.state.message.startswith("ValueError: bad label")


def test_a_latecomer_to_a_closed_job_is_told_so() -> None:
    story = running("a").on(worlds.Finished(id="a", world=1))
    story.on(worlds.Joined(id="b", address="b", ranks=1))
    assert [type(command) for command in story.commands] == [worlds.Close]


def test_numbers_rise_above_those_in_an_output_that_was_used_before() -> None:
    story = running("a", "b", "c").on(worlds.FloorFound(number=7))
    assert story.said(worlds.Restart) == [worlds.Restart(world=1, ids=("a", "b", "c"))]
    story.on(*(worlds.Ready(id=id, port=1, survivor=True) for id in "abc"))
    assert story.world.number == 8
    assert story.state.restarts == 0


def claim(number: int, *ids: str) -> worlds.World:
    seats = tuple(worlds.Seat(id=id, address=id, ranks=1) for id in ids)
    return worlds.World(number=number, seats=seats, store_port=1, restore=None)


def rejoin(story: Story, id: str, world: worlds.World, *, left: bool = False) -> Story:
    return story.on(worlds.Joined(id=id, address=id, ranks=1, claim=world, left=left))


@pytest.mark.acceptance(22)
def test_after_its_restart_the_coordinator_waits_until_the_whole_world_is_back() -> None:
    story, world = Story(number=5), claim(5, "a", "b", "c")
    rejoin(story, "a", world)
    rejoin(story, "c", world)
    assert story.state.phase is Phase.WAITING
    rejoin(story, "b", world)
    assert (story.state.phase, story.state.world) == (Phase.RUNNING, world)
    assert story.said(worlds.Restart) == []


def test_once_a_majority_is_back_the_others_are_waited_for_a_moment_only() -> None:
    story, world = Story(number=5), claim(5, "a", "b", "c")
    rejoin(rejoin(story, "a", world), "b", world).pass_time(LIMITS.return_seconds - 1)
    assert story.state.phase is Phase.WAITING
    story.pass_time(1)
    assert [(end.world, end.reason) for end in story.said(worlds.Ended)] == [(5, Reason.LOSS)]
    assert story.said(worlds.Restart) == [worlds.Restart(world=5, ids=("a", "b"))]


def test_a_majority_that_goes_again_is_waited_for_anew() -> None:
    story, world = Story(number=5), claim(5, "a", "b", "c")
    rejoin(rejoin(story, "a", world), "b", world).pass_time(LIMITS.return_seconds - 1)
    story.on(worlds.Lost(id="b")).pass_time(1)
    assert story.state.phase is Phase.WAITING
    rejoin(story, "b", world).pass_time(1)
    assert story.state.phase is Phase.WAITING


def test_survivors_of_a_loss_while_the_coordinator_was_away_form_a_world_in_a_moment() -> None:
    """Their collectives failed, so all that is left of the world is out of it."""
    story, world = Story(number=5), claim(5, "a", "b", "c")
    for id in "bc":
        rejoin(story, id, world, left=True)
    story.on(*(worlds.Ready(id=id, port=1, survivor=True, world=5) for id in "bc"))
    assert story.published == []
    assert story.pass_time(LIMITS.return_seconds).world.ids == ("b", "c")


def test_a_world_that_all_its_members_have_left_is_followed_at_once() -> None:
    story, world = Story(number=5), claim(5, "a", "b")
    for id in "ab":
        rejoin(story, id, world, left=True)
    story.on(*(worlds.Ready(id=id, port=1, survivor=True, world=5) for id in "ba"))
    assert (story.world.number, story.world.ids) == (6, ("a", "b"))


def test_a_planned_stop_that_some_have_finished_already_is_not_broken_off() -> None:
    story, world = Story(number=5), claim(5, "a", "b")
    rejoin(story, "a", world, left=True).on(worlds.Ready(id="a", port=1, survivor=True, world=5))
    rejoin(story, "b", world)
    assert story.said(worlds.Restart) == []
    story.on(worlds.Drained(id="b", world=5), worlds.Ready(id="b", port=1, world=5, survivor=True))
    assert (story.world.number, story.world.ids) == (6, ("a", "b"))


def test_members_of_an_older_world_are_called_back_when_a_newer_one_is_adopted() -> None:
    story = rejoin(Story(number=5), "z", claim(3, "z"))
    rejoin(story, "a", claim(5, "a"))
    assert story.said(worlds.Restart) == [worlds.Restart(world=3, ids=("z",))]
    assert story.state.phase is Phase.RUNNING


def test_when_the_time_is_over_a_majority_is_adopted_and_the_rest_is_lost() -> None:
    story, world = Story(number=5), claim(5, "a", "b", "c")
    rejoin(rejoin(story, "a", world), "c", world).pass_time(LIMITS.recovery_seconds)
    assert story.state.world == world
    (ended,) = story.said(worlds.Ended)
    assert (ended.world, ended.reason) == (5, Reason.LOSS)


def test_a_coordinator_that_has_restarted_refuses_no_commit_before_it_knows_the_world() -> None:
    """A refusal would tell the rank that its world is over, and end the world by that."""
    story, world = Story(number=5), claim(5, "a", "b")
    rejoin(story, "a", world).on(worlds.CommitAsked(id="a", checkpoint=Checkpoint(5, 9)))
    (unknown,) = story.said(worlds.AnswerCommit)
    assert unknown.accepted is None
    rejoin(story, "b", world).on(worlds.CommitAsked(id="a", checkpoint=Checkpoint(5, 9)))
    (said,) = story.said(worlds.AnswerCommit)
    assert said.accepted


def test_an_older_world_is_not_adopted_because_it_came_back_first() -> None:
    story = rejoin(Story(number=7), "a", claim(3, "a"))
    assert story.state.phase is Phase.WAITING
    assert story.said(worlds.Restart) == []
    story.pass_time(LIMITS.recovery_seconds)
    assert story.said(worlds.Restart) == [worlds.Restart(world=3, ids=("a",))]
    assert story.said(worlds.Adopted) == []


def test_a_notice_that_came_before_the_adoption_is_heeded() -> None:
    story, world = Story(number=5), claim(5, "a", "b")
    rejoin(story, "a", world).on(worlds.Leaving(id="a", seconds=90))
    rejoin(story, "b", world)
    assert [command.ids for command in story.said(worlds.AskDrain)] == [("a", "b")]


def test_a_planned_stop_goes_on_under_a_coordinator_that_has_restarted() -> None:
    story, world = Story(number=5), claim(5, "a", "b")
    rejoin(rejoin(story, "a", world), "b", world)
    story.on(worlds.Drained(id="a", world=5), worlds.Drained(id="b", world=5))
    story.on(*(worlds.Ready(id=id, port=1, survivor=True, world=5) for id in "ab"))
    assert (story.world.number, story.world.ids) == (6, ("a", "b"))


def test_members_that_finished_while_the_coordinator_was_away_have_finished() -> None:
    story, world = Story(number=5), claim(5, "a", "b")
    for id in "ab":
        story.on(worlds.Joined(id=id, address=id, ranks=1, claim=world, finished=True))
    assert story.state.outcome == "succeeded"


def test_a_connection_that_broke_after_the_end_does_not_undo_the_end() -> None:
    story = running("a").on(worlds.Lost(id="a"))
    joined = worlds.Joined(id="a", address="a", ranks=1, claim=story.world, finished=True)
    assert story.on(joined).state.outcome == "succeeded"


def test_what_a_member_said_before_it_heard_of_its_world_is_stale() -> None:
    story = running("a", "b", "c")
    story.on(worlds.Starting(id="a", world=0), worlds.Ready(id="b", port=9, world=0))
    assert story.state.phase is Phase.RUNNING
    assert {member.state for member in story.state.seated()} == {MemberState.ACTIVE}


def test_a_spare_that_lived_through_an_older_world_does_not_become_rank_0() -> None:
    limits = replace(LIMITS, max_size=4, desired_size=4, allowed_sizes=(1, 2, 4))
    story = Story(limits).join("a", "b", "c", "d").on(worlds.Leaving(id="c", seconds=90))
    story.drain("c", ready=False).drain("a", "b", "d")
    assert story.world.ids == ("a", "b")
    story.on(worlds.Lost(id="a"), worlds.Failed(id="b", world=2, hard=True))
    assert story.published[-1].number == 2  # the spare waits for b, which starts anew
    story.on(worlds.Ready(id="b", port=1, world=2))
    assert story.world.ids == ("b", "d")


def test_who_never_leaves_a_broken_world_is_not_waited_for_for_ever() -> None:
    story = running("a", "b", "c").on(worlds.Lost(id="a"))
    story.on(worlds.Ready(id="b", port=1, survivor=True, world=1))
    assert story.pass_time(LIMITS.leave_seconds - 1).published[-1].number == 1
    assert story.pass_time(1).world.ids == ("b",)


def test_the_platforms_own_faults_use_up_no_restart() -> None:
    story = running("a", "b", "c")
    for id in "abc":
        story.on(worlds.Failed(id=id, world=1, hard=False, message="no save", excused=True))
    story.on(*(worlds.Ready(id=id, port=1, survivor=True, world=1) for id in "abc"))
    assert (story.world.number, story.state.restarts) == (2, 0)


def test_a_newcomers_own_world_in_the_output_disturbs_nobody() -> None:
    story = running("a", "b").join("c", ready=False)
    story.on(worlds.Ready(id="c", port=1, world=0, floor=1))
    assert story.said(worlds.Restart) == []
    story.on(worlds.Ready(id="c", port=1, world=0, floor=9))
    assert story.said(worlds.Restart) == [worlds.Restart(world=1, ids=("a", "b"))]
    story.on(*(worlds.Ready(id=id, port=1, survivor=True, world=1) for id in "ab"))
    assert story.world.number == 10


@pytest.mark.acceptance(22)
def test_a_world_whose_members_are_all_back_trains_on_undisturbed() -> None:
    story, world = Story(number=5), claim(5, "a")
    rejoin(story, "a", world)
    assert (story.state.phase, story.state.world) == (Phase.RUNNING, world)
    assert story.published == []


def test_after_a_restart_nothing_is_decided_before_the_grace_period_is_over() -> None:
    story = Story(number=5).join("x", "y", "z")
    assert story.published == []
    assert story.pass_time(LIMITS.recovery_seconds).world.number == 6


def test_a_minority_of_an_old_world_is_told_to_leave_it() -> None:
    story = Story(number=5)
    rejoin(story, "a", claim(5, "a", "b", "c"))
    story.pass_time(LIMITS.recovery_seconds)
    assert story.said(worlds.Restart) == [worlds.Restart(world=5, ids=("a",))]


def test_who_reconnects_with_a_world_that_is_over_learns_it() -> None:
    story = running("a", "b", "c").on(worlds.Lost(id="b"))
    rejoin(story, "b", claim(1, "a", "b", "c"))
    assert story.said(worlds.Restart) == [worlds.Restart(world=1, ids=("b",))]


@pytest.mark.parametrize(
    ("available", "allowed", "size"),
    [
        pytest.param(0, (), 0, id="nobody"),
        pytest.param(1, (), 0, id="below-the-minimum"),
        pytest.param(3, (), 3, id="any-size"),
        pytest.param(9, (), 6, id="above-the-maximum"),
        pytest.param(5, (2, 4, 8), 4, id="largest-allowed"),
        pytest.param(3, (4,), 0, id="none-allowed"),
        pytest.param(9, (8,), 0, id="allowed-above-the-maximum"),
    ],
)
def test_the_size_of_a_world(available: int, allowed: tuple[int, ...], size: int) -> None:
    limits = replace(LIMITS, min_size=2, max_size=6, allowed_sizes=allowed)
    assert worlds.choose_size(limits, available) == size


def test_events_of_strangers_and_of_old_worlds_change_nothing() -> None:
    story = running("a", "b", "c")
    before = story.state
    story.on(
        worlds.Drained(id="a", world=9),
        worlds.Failed(id="a", world=9, hard=True),
        worlds.Finished(id="a", world=9),
        worlds.Ready(id="stranger", port=1),
        worlds.Lost(id="stranger"),
    )
    assert story.state == before
    assert story.state.members["a"].state is MemberState.ACTIVE


@pytest.mark.acceptance(24)
def test_a_world_that_hangs_is_restarted_and_counts_as_a_failure() -> None:
    story = running("a", "b", limits=replace(LIMITS, desired_size=2))
    story.on(worlds.Stalled(world=1, message="no step for 60 s"))
    assert worlds.Restart(world=1, ids=("a", "b")) in story.commands
    ended = worlds.Ended(world=1, reason=Reason.STALL, message="no step for 60 s")
    assert ended in story.commands
    story.on(worlds.Stalled(world=1, message="said again"))
    assert story.commands == []
    story.on(*(worlds.Ready(id=id, port=1, world=1) for id in "ab"))
    assert (story.world.number, story.state.restarts) == (2, 1)
    story.on(worlds.Stalled(world=1, message="of a world that is over"))
    assert story.state.phase is Phase.RUNNING


def test_a_training_that_always_hangs_ends_with_the_reason() -> None:
    story = running("a", "b", limits=replace(LIMITS, desired_size=2, max_restarts=0))
    story.on(worlds.Stalled(world=1, message="no step for 60 s"))
    story.on(*(worlds.Ready(id=id, port=1, world=1) for id in "ab"))
    assert story.state.outcome == "failed"
    assert "no step for 60 s" in story.state.message


def test_ranks_that_fail_while_a_hanging_world_is_left_do_not_hide_what_hung() -> None:
    story = running("a", "b", limits=replace(LIMITS, desired_size=2, max_restarts=0))
    story.on(worlds.Stalled(world=1, message="rank 1 hangs"))
    story.on(worlds.Failed(id="a", world=1, hard=True, message="a peer is gone"))
    assert story.said(worlds.Ended) == []
    story.on(worlds.Starting(id="b", world=1))
    assert "rank 1 hangs" in story.state.message


def test_restarts_that_are_used_up_outlive_the_coordinator() -> None:
    state = worlds.start(LIMITS, number=3, restarts=LIMITS.max_restarts)
    assert state.restarts == 1
