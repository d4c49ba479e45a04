"""Spot capacity over time: how many nodes there were."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True)
class Trace:
    """Nodes alive over a stretch of time that begins at 0."""

    counts: tuple[tuple[float, int], ...]
    """(from this second on, so many nodes), in order; the first at 0, each unlike the last."""
    seconds: float
    """Its end."""

    def __post_init__(self) -> None:
        times = [at for at, _ in self.counts]
        if not times or times[0] != 0 or any(a >= b for a, b in pairwise([*times, self.seconds])):
            raise ValueError(
                f"a trace of {self.seconds} s with counts {self.counts[:3]}... has to begin at 0 "
                "and go on in order of time to its end"
            )
        if any(count < 0 for _, count in self.counts):
            raise ValueError("a trace counts nodes, which are never fewer than 0")

    @property
    def spans(self) -> Iterable[tuple[float, float, int]]:
        """(start, end, nodes)."""
        ends = [at for at, _ in self.counts[1:]] + [self.seconds]
        for (start, nodes), end in zip(self.counts, ends, strict=True):
            yield start, end, nodes

    @property
    def most(self) -> int:
        """Nodes, at its best time."""
        return max(count for _, count in self.counts)

    @property
    def node_seconds(self) -> float:
        return sum((end - start) * nodes for start, end, nodes in self.spans)

    @property
    def drops(self) -> int:
        """How often nodes went."""
        return sum(after < before for (_, before), (_, after) in pairwise(self.counts))

    def scaled(self, *, most: int, to: int, least: int = 1) -> "Trace":
        """As though a fleet of `most` nodes were one of `to`: shares rounded half up."""
        return trace_of(
            ((at, max(least, int(count * to / most + 0.5))) for at, count in self.counts),
            self.seconds,
        )

    def compressed(self, factor: float) -> "Trace":
        """The same changes in a `factor`-th of the time."""
        return trace_of(((at / factor, count) for at, count in self.counts), self.seconds / factor)

    def repeated(self, times: int) -> "Trace":
        """The same again and again."""
        return trace_of(
            (
                (at + number * self.seconds, count)
                for number in range(times)
                for at, count in self.counts
            ),
            self.seconds * times,
        )

    def window(self, start: float, seconds: float) -> "Trace":
        """A part of it, its times counted from its own start."""
        if start < 0 or seconds <= 0 or start + seconds > self.seconds:
            raise ValueError(f"{start} s and {seconds} s more are not within {self.seconds} s")
        within = [
            (max(0.0, begin - start), nodes)
            for begin, end, nodes in self.spans
            if end > start and begin < start + seconds
        ]
        return trace_of(within, seconds)

    def busiest(self, seconds: float) -> float:
        """Where the window with the most drops begins, among those that begin with a change."""
        starts = [at for at, _ in self.counts if at + seconds <= self.seconds]
        return max(starts, key=lambda start: (self.window(start, seconds).drops, -start))


def trace_of(counts: Iterable[tuple[float, int]], seconds: float) -> Trace:
    """Of several counts at one time the last one holds; one like that before it says nothing."""
    by_time = {at: count for at, count in counts if at < seconds}
    kept: list[tuple[float, int]] = []
    for at, count in by_time.items():
        if not kept or kept[-1][1] != count:
            kept.append((at, count))
    return Trace(tuple(kept), seconds)
