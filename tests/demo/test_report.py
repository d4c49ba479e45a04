"""The demonstration's verdict: what falls short is said, and fails it."""

from dataclasses import replace
from typing import Any

import pytest

from demo.report import find_problems
from spotrain.ledger.exactness import Exactness
from spotrain.worlds import Reason
from spotrain.worlds.history import Chapter

EXACT = Exactness(lost=0, repeated=0, padding=0, epochs_checked=3, problems=())


def world(number: int, reason: Reason, **changes: Any) -> Chapter:
    """A world of ten steps whose end cost a tenth of a second and no step."""
    first = number * 10
    chapter = Chapter(
        number=number,
        members=("a", "b"),
        published_at=float(number),
        first_step=first,
        last_step=first + 10,
        committed_step=first + 10,
        reason=reason,
        pause_seconds=0.1,
        steps_lost=0,
    )
    return replace(chapter, **changes)


STORY = (
    world(0, Reason.NOTICE),
    world(1, Reason.LOSS),
    world(2, Reason.GROWTH),
    world(3, Reason.FINISHED, pause_seconds=None, steps_lost=None),
)


def problems(
    worlds: tuple[Chapter, ...] = STORY, samples: Exactness = EXACT, **changes: Any
) -> tuple[str, ...]:
    values: dict[str, Any] = {"outcome": "succeeded", "accuracy": 0.99, **changes}
    return find_problems(samples=samples, worlds=worlds, **values)


def test_a_good_run_passes() -> None:
    assert problems() == ()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        pytest.param({"outcome": "failed"}, "ended as failed", id="outcome"),
        pytest.param({"accuracy": 0.949}, "accuracy 94.90% is below 95%", id="accuracy"),
        pytest.param({"samples": replace(EXACT, lost=1)}, "lost: 1", id="lost-sample"),
        pytest.param({"samples": replace(EXACT, repeated=2)}, "repeated: 2", id="repeated-sample"),
        pytest.param({"samples": replace(EXACT, problems=("cursor",))}, "cursor", id="cursor"),
        pytest.param({"worlds": STORY[1:]}, "no world ended by a notice", id="no-notice"),
        pytest.param({"worlds": (*STORY[:2], STORY[3])}, "by a growth", id="no-growth"),
        pytest.param(
            {"worlds": (world(0, Reason.NOTICE, steps_lost=3), *STORY[1:])},
            "3 steps lost, though its end was planned",
            id="planned-loss",
        ),
        pytest.param(
            {"worlds": (world(0, Reason.NOTICE, pause_seconds=10.1), *STORY[1:])},
            "the pause after it was 10.1 s",
            id="long-pause",
        ),
        pytest.param(
            {"worlds": (*STORY[:2], replace(STORY[2], first_step=15), STORY[3])},
            "went on from step 15, though step 20 was saved",
            id="older-checkpoint",
        ),
    ],
)
def test_whatever_falls_short_is_named(changes: dict[str, Any], said: str) -> None:
    assert any(said in problem for problem in problems(**changes))
