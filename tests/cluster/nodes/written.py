"""What a job has left on its volume: the ranks' sample logs, and the manifests of checkpoints."""

from dataclasses import dataclass
from pathlib import Path

from spotrain.ledger.exactness import Exactness, audit, read_commits, read_sample_log


@dataclass(frozen=True, kw_only=True)
class Written:
    samples: Path
    checkpoints: Path
    images: int
    """Size of the data set."""

    def log(self, world: int, rank: int) -> Path:
        return self.samples / f"w{world:06d}-r{rank:05d}.jsonl"

    def steps(self, world: int) -> dict[int, int]:
        """Rank -> steps that it has done in that world."""
        return {
            int(path.stem.partition("-r")[2]): path.read_bytes().count(b"\n")
            for path in self.samples.glob(f"w{world:06d}-r*.jsonl")
        }

    @property
    def world(self) -> int:
        """The newest one that has done a step; 0: none."""
        return max((int(path.name[1:7]) for path in self.samples.glob("w*-r*.jsonl")), default=0)

    def total(self) -> int:
        """Steps of rank 0 in all worlds."""
        return sum(path.read_bytes().count(b"\n") for path in self.samples.glob("w*-r00000.jsonl"))

    def first_step(self, world: int) -> int:
        """That any rank of that world has done."""
        return min(one.step for one in read_sample_log(self.samples) if one.world == world)

    def last_steps(self, world: int) -> dict[int, int]:
        """Rank -> the last step that it has done in that world."""
        records = [one for one in read_sample_log(self.samples) if one.world == world]
        ranks = {one.rank for one in records}
        return {rank: max(one.step for one in records if one.rank == rank) for rank in ranks}

    def last_step(self, world: int) -> int:
        """The last that every rank of that world has done."""
        return min(self.last_steps(world).values())

    def saved_step(self, world: int) -> int:
        """Of the last checkpoint that was committed in that world."""
        commits = read_commits(self.checkpoints)
        return max(commit.step for commit in commits if commit.world == world)

    def epoch(self) -> int:
        """That the newest checkpoint stands in."""
        return max(read_commits(self.checkpoints), key=lambda commit: commit.key).epoch

    def audit(self) -> Exactness:
        return audit(self.images, read_commits(self.checkpoints), read_sample_log(self.samples))
