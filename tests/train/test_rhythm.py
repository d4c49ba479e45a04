"""All ranks ask each other at the same steps, however differently they measure time."""

from hypothesis import given
from hypothesis import strategies as st

from spotrain.train.rhythm import AIM_SECONDS, MOST_STEPS, Rhythm

SECONDS = st.floats(1e-6, 10.0)


class World:
    """Ranks in one process: what is asked at a step is answered at the next, as over a network."""

    def __init__(self, ranks: int) -> None:
        self.rhythms = [Rhythm() for _ in range(ranks)]
        self.now = [0.0] * ranks
        self.asked: int | None = None
        self.questions = 0

    def step(self, wishes: list[int], seconds: list[float]) -> list[int]:
        """What each rank learns at this step."""
        answers = [0] * len(wishes)
        if self.asked is not None:
            answers = [rhythm.answer(self.asked) for rhythm in self.rhythms]
            self.asked = None
        for rank, each in enumerate(seconds):
            self.now[rank] += each
        due = [rhythm.is_due() for rhythm in self.rhythms]
        assert len(set(due)) == 1, "a rank that asks alone hangs"
        if due[0] and not any(answers):
            self.questions += 1
            pairs = zip(self.rhythms, wishes, self.now, strict=True)
            self.asked = max(rhythm.ask(wish, now) for rhythm, wish, now in pairs)
        return answers


@given(st.integers(2, 4).flatmap(lambda n: st.lists(st.lists(SECONDS, min_size=n, max_size=n))))
def test_all_ranks_ask_at_the_same_steps(times: list[list[float]]) -> None:
    world = World(len(times[0]) if times else 2)
    for seconds in times:
        world.step([0] * len(seconds), seconds)


@given(st.lists(SECONDS, max_size=40), st.integers(0, 2), st.integers(1, 2), st.floats(1e-6, 10.0))
def test_a_wish_of_any_rank_is_known_to_all_within_a_few_steps(
    before: list[float], rank: int, wish: int, then: float
) -> None:
    world = World(3)
    for seconds in before:
        assert world.step([0] * 3, [seconds] * 3) == [0] * 3
    wishes = [wish if each == rank else 0 for each in range(3)]
    for _ in range(MOST_STEPS + 1):
        answers = world.step(wishes, [then] * 3)
        if any(answers):
            break
    assert answers == [wish] * 3


def test_of_several_wishes_the_largest_holds_whoever_proposes_more_steps() -> None:
    world = World(2)
    for _ in range(50):
        world.step([0, 0], [1e-3, 10.0])
    seen = [world.step([1, 2], [1e-3, 10.0]) for _ in range(MOST_STEPS + 1)]
    assert next(answers for answers in seen if any(answers)) == [2, 2]


def test_long_steps_are_asked_at_each_and_short_ones_ten_times_a_second() -> None:
    for seconds, questions in ((1.0, 100), (AIM_SECONDS / 4, 25), (1e-4, 100 / MOST_STEPS)):
        world = World(2)
        for _ in range(100):
            world.step([0, 0], [seconds * 0.999] * 2)
        assert abs(world.questions - questions) <= 3
