"""The record of a job's worlds: what each change cost."""

from spotrain.worlds import Checkpoint, Reason, Seat, World, history


def world(number: int, size: int = 2) -> World:
    seats = tuple(Seat(id=f"p{i}", address="", ranks=1) for i in range(size))
    return World(number=number, seats=seats, store_port=1, restore=None)


def report(
    told: history.History,
    number: int,
    step: int,
    now: float,
    *,
    restored: int | None = None,
    previous: int | None = None,
    samples: int = 8,
) -> history.History:
    return history.progress(
        told,
        number=number,
        step=step,
        samples=samples,
        restored_step=restored,
        previous_step=previous,
        now=now,
    )


def one_world() -> history.History:
    """World 1 trained from step 0 to 20, the last report at 12 s; its end was decided at 13 s."""
    told = history.publish((), world(1), 10.0)
    told = report(told, 1, 1, 11.0, restored=0)
    return history.end(report(told, 1, 20, 12.0), 1, Reason.LOSS, 13.0)


def test_the_pause_goes_from_the_decision_to_the_next_worlds_first_step() -> None:
    told = report(history.publish(one_world(), world(2), 13.5), 2, 11, 14.0, restored=10)
    assert told[0].pause_seconds == 1.0
    assert told[1].first_step == 10


def test_steps_lost_count_up_to_what_a_survivor_did_unreported() -> None:
    told = history.publish(one_world(), world(2), 13.5)
    told = report(told, 2, 11, 14.0, restored=10, previous=23)
    assert told[0].steps_lost == 13
    assert (told[0].last_step, told[0].last_step_at) == (23, 13.0)


def test_a_planned_change_that_saved_its_last_step_loses_none() -> None:
    told = history.publish(one_world(), world(2), 13.5)
    told = report(told, 2, 24, 14.0, restored=23, previous=23)
    assert told[0].steps_lost == 0


def test_a_world_that_never_stepped_belongs_to_the_pause_before_it() -> None:
    told = history.publish(one_world(), world(2), 13.5)
    told = history.end(told, 2, Reason.LOSS, 15.0)
    told = report(history.publish(told, world(3), 15.5), 3, 11, 16.0, restored=10, previous=20)
    assert (told[0].pause_seconds, told[0].steps_lost) == (3.0, 10)
    assert (told[1].pause_seconds, told[1].first_step) == (None, None)


def test_a_checkpoint_tells_of_steps_of_which_no_report_did() -> None:
    told = history.commit(one_world(), Checkpoint(1, 25), 13.2)
    assert (told[0].last_step, told[0].last_step_at) == (25, 13.2)
    late = history.commit(told, Checkpoint(1, 20), 13.4)
    assert (late[0].last_step, late[0].last_step_at) == (25, 13.2)


def test_a_world_that_hung_did_its_last_step_when_that_was_told() -> None:
    told = history.end(one_world(), 1, Reason.STALL, 13.0)
    told = report(history.publish(told, world(2), 913.5), 2, 11, 914.0, restored=10)
    assert told[0].last_step_at == 12.0


def test_a_graver_reason_replaces_the_first_but_not_its_time() -> None:
    told = history.end(history.publish((), world(1), 0.0), 1, Reason.NOTICE, 5.0)
    told = history.end(told, 1, Reason.LOSS, 9.0)
    assert (told[0].reason, told[0].ended_at) == (Reason.LOSS, 5.0)


def test_a_report_without_samples_leaves_the_size_of_a_step_alone() -> None:
    told = report(one_world(), 1, 20, 12.5, samples=0)
    assert told[0].samples_per_step == 8


def test_commits_stand_with_the_world_that_made_them() -> None:
    told = history.commit(history.publish(one_world(), world(2), 13.5), Checkpoint(1, 20), 13.6)
    assert [chapter.committed_step for chapter in told] == [20, None]


def test_an_adopted_world_is_known_from_its_first_report_on() -> None:
    told = report(history.publish((), world(7), 0.0), 7, 40, 1.0)
    assert (told[0].first_step, told[0].first_step_at) == (40, 1.0)


def test_a_step_is_due_once_the_job_has_told_of_one_and_while_a_world_trains() -> None:
    fresh = history.publish((), world(1), 10.0)
    assert history.next_step_due(fresh, 60.0) is None
    told = report(fresh, 1, 1, 11.0, restored=0)
    assert history.next_step_due(told, 60.0) == 71.0
    ended = history.end(told, 1, Reason.STALL, 71.0, "rank 1 hangs")
    assert (history.next_step_due(ended, 60.0), ended[0].message) == (None, "rank 1 hangs")
    assert history.next_step_due(history.publish(ended, world(2), 80.0), 60.0) == 140.0


def lives(told: history.History, first: int, worlds: int, *, trained: bool) -> history.History:
    """So many more worlds of 10 s and 10 steps each, the last 2 of which are lost with it."""
    for number in range(first, first + worlds):
        at, step = 10.0 * number, 8 * number
        told = history.publish(told, world(number), at)
        if trained:
            told = report(told, number, step + 1, at + 1, restored=step)
            told = report(told, number, step + 10, at + 9)
        told = history.end(told, number, Reason.LOSS, at + 9.5)
    return told


def test_a_job_of_many_worlds_keeps_the_newest_and_the_cost_of_each_change() -> None:
    told = lives((), 1, 3 * history.MAX_CHAPTERS, trained=True)
    assert [chapter.number for chapter in told][:: history.MAX_CHAPTERS - 1] == [201, 300]
    assert len(told) == history.MAX_CHAPTERS
    assert {(c.pause_seconds, c.steps_lost) for c in told[:-1]} == {(1.5, 2)}


def test_worlds_that_never_step_do_not_push_out_the_one_that_trained_last() -> None:
    told = lives((), 1, 2, trained=True)
    told = lives(told, 3, 2 * history.MAX_CHAPTERS, trained=False)
    assert len(told) == history.MAX_CHAPTERS + 1
    assert (told[0].number, told[0].last_step) == (2, 26)
    last = told[-1].number + 1
    told = history.publish(told, world(last), 5000.0)
    assert history.next_step_due(told, 60.0) == 5060.0
    told = report(told, last, 25, 5001.0, restored=24)
    assert (told[0].pause_seconds, told[0].steps_lost) == (5001.0 - 29.5, 2)
    assert told[-1].last_step == 25


def test_a_world_that_is_no_longer_kept_takes_no_late_word() -> None:
    told = lives((), 1, history.MAX_CHAPTERS + 5, trained=True)
    assert history.commit(told, Checkpoint(1, 18), 1.0) == told
