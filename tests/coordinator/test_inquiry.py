"""Of the ranks of a world that hangs, those that hold up the others are named."""

from hypothesis import given
from hypothesis import strategies as st

from spotrain.coordinator.inquiry import MAX_PLACE, Inquiry
from spotrain.coordinator.protocol import Inspected, RankState
from spotrain.worlds import Seat, World

MOST_OF_AN_EVENT = 1024
"""Characters of a Kubernetes event's message."""


def inquiry(*ranks_of_pods: int) -> Inquiry:
    seats = tuple(
        Seat(id=f"pod-{pod}", address="", ranks=ranks) for pod, ranks in enumerate(ranks_of_pods)
    )
    return Inquiry(World(number=4, seats=seats, store_port=0, restore=None), "no step for 60 s")


def at(local_rank: int, step: int | None, place: str = "", **changes: int) -> RankState:
    stacks = f"stack of {place}" if place else ""
    return RankState(local_rank=local_rank, step=step, place=place, stacks=stacks, **changes)


def test_who_is_behind_is_named_with_the_place_and_the_others_with_theirs() -> None:
    asked = inquiry(2, 2)
    asked.take(
        "pod-1",
        Inspected(
            world=4,
            ranks=(at(0, 120, "t.py:9 train", batches=1), at(1, 120, "data.py:42 load_batch")),
        ),
    )
    assert not asked.is_complete
    waiting = tuple(at(local, 120, "t.py:9 train", batches=1) for local in (0, 1))
    asked.take("pod-0", Inspected(world=4, ranks=waiting))
    assert asked.is_complete
    assert asked.conclusion() == (
        "no step for 60 s; behind or stuck: rank 3 (rank 3: without its next batch after step 120, "
        "data.py:42 load_batch; ranks 0-2: in step 121, t.py:9 train)"
    )
    assert asked.stacks()[3] == "stack of data.py:42 load_batch"


def test_who_cannot_answer_comes_first() -> None:
    asked = inquiry(1, 1, 1)
    asked.take("pod-0", Inspected(world=4, ranks=(at(0, 7, "t.py:9 train", batches=1),)))
    stopped = RankState(local_rank=0, step=7, batches=1, place="stopped by a signal")
    asked.take("pod-2", Inspected(world=4, ranks=(stopped,)))
    assert "behind or stuck: ranks 1-2 (rank 1: did not answer; rank 2: in step 8, stopped by" in (
        asked.conclusion()
    )


def test_ranks_that_wait_for_each_other_are_told_as_equals() -> None:
    asked = inquiry(2)
    both = (at(0, None, "t.py:3 setup"), at(1, None, "t.py:5 setup"))
    asked.take("pod-0", Inspected(world=4, ranks=both))
    assert asked.conclusion().endswith(
        "all ranks had come equally far (rank 0: had not begun, t.py:3 setup; "
        "rank 1: had not begun, t.py:5 setup)"
    )


def test_what_is_said_of_another_world_or_by_strangers_is_no_answer() -> None:
    asked = inquiry(1)
    asked.take("pod-0", Inspected(world=3, ranks=(at(0, 7),)))
    asked.take("pod-9", Inspected(world=4, ranks=(at(0, 7),)))
    assert asked.answers == {}


STATES = st.builds(
    RankState,
    local_rank=st.integers(-1, 70),
    step=st.none() | st.integers(),
    batches=st.integers(),
    place=st.text(max_size=500),
    stacks=st.text(max_size=20),
)


@given(pods=st.lists(st.integers(1, 64), min_size=1, max_size=20), data=st.data())
def test_whatever_agents_say_the_conclusion_fits_into_an_event(
    pods: list[int], data: st.DataObject
) -> None:
    asked = inquiry(*pods)
    for pod in range(len(pods)):
        ranks = data.draw(st.lists(STATES, max_size=5))
        asked.take(f"pod-{pod}", Inspected(world=4, ranks=tuple(ranks)))
    told = asked.conclusion()
    assert len(told) <= MOST_OF_AN_EVENT
    assert "\n" not in told
    assert MAX_PLACE < MOST_OF_AN_EVENT
