"""From the steps of a team to its goodput, by the ledger's own arithmetic. Pure."""

from collections.abc import Mapping, Sequence

from bench.train.goodput.play import Played
from bench.train.peers.steps import StepDone
from spotrain.ledger.goodput import Goodput, WorldRecord, goodput


def account(played: Played, speed: Mapping[int, float], *, batch: int) -> Goodput:
    """`speed`: samples a second by number of nodes, as measured without any disturbance.

    All steps that the last world did count as saved: the end of the measurement is no loss.
    """
    return goodput(records(played.steps, batch=batch), played.nodes, full_speed=speed)


def records(steps: Sequence[StepDone], *, batch: int) -> list[WorldRecord]:
    """Worlds as the ledger knows them, from what their rank 0 wrote down, in order of time."""
    by_world: dict[str, list[StepDone]] = {}
    for step in sorted(steps, key=lambda step: step.at):
        if step.rank == 0:
            by_world.setdefault(step.world, []).append(step)
    return [
        WorldRecord(
            number=number,
            size=own[0].size,
            reason="loss",
            published_at=0.0,
            first_step_at=own[0].at,
            last_step_at=own[-1].at,
            first_step=own[0].step,
            last_step=own[-1].step,
            ended_at=own[-1].at,
            committed_step=own[-1].step,  # what a later world did not go on from is taken off
            samples_per_step=own[0].size * batch,
        )
        for number, own in enumerate(by_world.values(), start=1)
    ]


def speed_of(steps: Sequence[StepDone], *, batch: int) -> float:
    """Samples a second of all ranks of the newest world, between its first and last step."""
    done = sorted((step for step in steps if step.rank == 0), key=lambda step: step.at)
    own = [step for step in done if step.world == done[-1].world]
    return (len(own) - 1) * own[0].size * batch / (own[-1].at - own[0].at)


def work_done(steps: Sequence[tuple[float, int, int]], *, end: float) -> list[tuple[float, float]]:
    """(seconds, steps of one node that count so far) from rank 0's (at, size, step).

    A step that is done again, or comes after one that was undone, takes the later ones off.
    """
    sizes: list[tuple[int, int]] = []
    points, total = [(0.0, 0.0)], 0
    for at, size, step in sorted(steps):
        while sizes and sizes[-1][0] >= step:
            total -= sizes.pop()[1]
        sizes.append((step, size))
        total += size
        points.append((at, float(total)))
    return [*points, (end, points[-1][1])]


def work_of_nodes(
    nodes: Sequence[tuple[float, float]], step_seconds: float
) -> list[tuple[float, float]]:
    """(seconds, steps) that live nodes could have done, without any loss."""
    times = sorted({time for life in nodes for time in life})
    return [
        (now, sum(max(0.0, min(now, end) - begun) for begun, end in nodes) / step_seconds)
        for now in times
    ]
