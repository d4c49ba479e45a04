"""Was every sample used once an epoch, in the work that counts?

"Once" is a statement about committed state: what a world did after the checkpoint that its
successor restored was thrown away with its gradients, and doing it again is no repetition. The
audit therefore walks back from the final checkpoint through its parents, takes from each world the
steps that lie on this path, and compares the ids that the ranks say they consumed with the data
set and with the position that each checkpoint claims. It shares no code with the sampler.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Final

from spotrain.ledger.samples import Commit, Consumption, Key, read_commits, read_sample_log

__all__ = ["Commit", "Consumption", "Exactness", "audit", "read_commits", "read_sample_log"]

SHOWN: Final = 10
"""Ids or steps that a problem lists before it only counts them."""


@dataclass(frozen=True)
class Exactness:
    lost: int
    repeated: int
    padding: int
    """Declared repeats, which the end of an epoch may need; they are no fault."""
    epochs_checked: int
    problems: tuple[str, ...]
    """What is wrong, for a person; the counts alone do not say where to look."""

    @property
    def is_exact(self) -> bool:
        return not (self.lost or self.repeated or self.problems)


def audit(
    size: int,
    commits: Iterable[Commit],
    consumed: Iterable[Consumption],
    *,
    final: Key | None = None,
    order: Callable[[int], Sequence[int]] | None = None,
) -> Exactness:
    """Compare a job's committed work with its data set of `size` samples.

    `final` is the checkpoint whose history is audited, the newest if not given. In the epoch in
    progress any `cursor` different samples pass, unless `order` (epoch -> all ids in their order)
    says which ones they have to be. Samples that a `drop_last` sampler leaves out count as lost.
    """
    known = {commit.key: commit for commit in commits}
    if not known:
        return Exactness(0, 0, 0, 0, ("no checkpoint was published: no work is committed",))
    last = known[final or max(known)]
    tally = _Tally(size, known)
    logs = _by_world(consumed)
    lineage = tally.lineage(last)
    before = lineage[0].parent[1] if lineage[0].parent else 0
    for commit in lineage:
        log = logs.get(commit.world, {})
        ranks = {record.rank for records in log.values() for record in records}
        for step in range(before + 1, commit.step + 1):
            tally.add(commit.world, step, log.get(step, []), ranks)
        if commit.step == before:  # saved before its world had done a step
            tally.check_position(commit)
        before = commit.step
    return tally.verdict(last, order)


class _Tally:
    """Samples seen so far on the way from the job's beginning to its final checkpoint."""

    def __init__(self, size: int, known: Mapping[Key, Commit]) -> None:
        self.size = size
        self.known = known
        self.seen: dict[int, Counter[int]] = defaultdict(Counter)
        self.padding = 0
        self.missing: dict[tuple[int, int], list[int]] = defaultdict(list)
        self.twice: dict[tuple[int, int], list[int]] = defaultdict(list)
        """Steps by (world, rank)."""
        self.problems: list[str] = []

    def lineage(self, last: Commit) -> list[Commit]:
        """The checkpoints that `last` goes back to, oldest first."""
        path = [last]
        while (parent := path[-1].parent) is not None:
            child = path[-1]
            if parent not in self.known:
                self.problems.append(
                    f"checkpoint {_name(child.key)} went on from {_name(parent)}, which is not "
                    "among the commits: what came before cannot be checked"
                )
                break
            if parent >= child.key or parent[1] > child.step:
                self.problems.append(
                    f"checkpoint {_name(child.key)} says that it went on from {_name(parent)}, "
                    "but a parent is older and at no later step"
                )
                break
            path.append(self.known[parent])
        return path[::-1]

    def add(self, world: int, step: int, records: list[Consumption], ranks: set[int]) -> None:
        """Count one step of all ranks, then compare with the checkpoint made after it, if any."""
        times = Counter(record.rank for record in records)
        for rank in ranks or {0}:
            if times[rank] != 1:
                log = self.twice if times[rank] else self.missing
                log[world, rank].append(step)
        for record in records:
            new = len(record.ids) - record.padding
            self.seen[record.epoch].update(record.ids[:new])
            self.padding += record.padding
        self._check_padding(world, step, records)
        if (world, step) in self.known:
            self.check_position(self.known[world, step])

    def _check_padding(self, world: int, step: int, records: list[Consumption]) -> None:
        padding = sum(record.padding for record in records)
        if any(not 0 <= record.padding <= len(record.ids) for record in records):
            self.problems.append(f"world {world}: step {step} declares impossible padding")
        elif padding >= len(records) > 0:
            self.problems.append(
                f"world {world}: step {step} has {padding} repeats with {len(records)} ranks, but "
                "padding must stay below the number of ranks"
            )
        elif padding and self.seen[records[0].epoch].total() < self.size:
            self.problems.append(
                f"world {world}: step {step} has {padding} repeats although epoch "
                f"{records[0].epoch} was not at its end"
            )

    def check_position(self, commit: Commit) -> None:
        """Whether a checkpoint claims as many samples as were logged on the way to it."""
        logged = self.seen[commit.epoch].total()
        if logged != commit.cursor:
            self.problems.append(
                f"checkpoint {_name(commit.key)} says that {commit.cursor} samples of epoch "
                f"{commit.epoch} were consumed, but the ranks logged {logged}"
            )
        if ahead := sorted(
            epoch for epoch, ids in self.seen.items() if ids and epoch > commit.epoch
        ):
            self.problems.append(
                f"checkpoint {_name(commit.key)} stands in epoch {commit.epoch}, but the ranks "
                f"had already logged samples of epoch {ahead[0]}"
            )

    def verdict(self, last: Commit, order: Callable[[int], Sequence[int]] | None) -> Exactness:
        for (world, rank), steps in self.missing.items():
            self.problems.append(f"world {world}: rank {rank} has no record of step {_some(steps)}")
        for (world, rank), steps in self.twice.items():
            self.problems.append(
                f"world {world}: rank {rank} repeats its record of step {_some(steps)}"
            )
        lost = repeated = 0
        for epoch in range(last.epoch + 1):
            seen = self.seen[epoch]
            complete = epoch < last.epoch or last.cursor >= self.size
            if complete or order is None:
                due = set(range(self.size))
            else:
                due = set(order(epoch)[: last.cursor])
            absent = due - seen.keys()
            if complete or order is not None:
                lost += len(absent)
                self._complain(epoch, "lost", absent)
            else:
                lost += max(0, last.cursor - len(due & seen.keys()))
            repeated += seen.total() - len(seen)
            self._complain(epoch, "repeated", {id for id, times in seen.items() if times > 1})
            self._complain(epoch, "consumed, though not due,", seen.keys() - due)
        epochs = last.epoch + (last.cursor > 0)
        return Exactness(lost, repeated, self.padding, epochs, tuple(self.problems))

    def _complain(self, epoch: int, what: str, ids: Set[int]) -> None:
        if ids:
            self.problems.append(f"epoch {epoch}: {what} {_some(sorted(ids))}")


def _by_world(consumed: Iterable[Consumption]) -> dict[int, dict[int, list[Consumption]]]:
    logs: dict[int, dict[int, list[Consumption]]] = defaultdict(lambda: defaultdict(list))
    for record in consumed:
        logs[record.world][record.step].append(record)
    return logs


def _name(key: Key) -> str:
    return f"w{key[0]:06d}-s{key[1]:08d}"


def _some(numbers: Sequence[int]) -> str:
    more = f" and {len(numbers) - SHOWN} more" if len(numbers) > SHOWN else ""
    return ", ".join(map(str, numbers[:SHOWN])) + more
