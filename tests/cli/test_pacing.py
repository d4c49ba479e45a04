"""How often a line tells of a job where nothing is redrawn."""

from dataclasses import dataclass

from spotrain.cli.pacing import Pace

HOUR = 3600


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


def told(seconds: int, *, watched: int = 0) -> list[int]:
    """When a line is due of a job that does a step a second, after it was watched for so long."""
    clock = Clock()
    pace = Pace(clock)
    due = []
    for second in range(watched + seconds):
        clock.now = float(second)
        if pace.is_due("", f"step {second}"):
            due.append(second)
    return [each - watched for each in due if each >= watched]


def test_a_job_that_goes_on_is_worth_a_line_every_five_seconds_and_later_one_a_minute() -> None:
    assert told(20) == [5, 10, 15]
    assert len(told(HOUR, watched=10 * HOUR)) in range(59, 62)


def test_news_is_told_at_once_and_no_line_twice() -> None:
    clock = Clock()
    pace = Pace(clock)
    assert pace.is_due("Pending", "digits: Pending")
    clock.now = 100.0
    assert not pace.is_due("Pending", "digits: Pending")
    assert pace.is_due("Running", "digits: Running, step 1")
    clock.now = 101.0
    assert not pace.is_due("Running", "digits: Running, step 2")
    assert pace.is_due("Succeeded", "digits: Succeeded, step 3")
