"""Samples lost and repeated over random worlds, on our loader and on the samplers of others.

    PYTHONPATH=.:build/bench python -m bench.train.samples [--jobs 200]

torchdata is a peer where build/bench has it (bench/train/requirements.lock). Each job's history
(sizes 1 to 16, kills at random steps) is played on all samplers in turn.
"""

import argparse
import os
import tempfile
import warnings
from pathlib import Path
from typing import Any

import torch

from bench import kept
from bench.machine import begun
from bench.train.samples import history, peers, report, session

MEMORY = Path("/dev/shm")
"""Thousands of small checkpoints are synced; on a disk that takes minutes and shows nothing."""


def measure(jobs: int) -> dict[str, Any]:
    """The raw data of `jobs` histories.

    Raises:
        AssertionError: a checkpoint's position, the loader or its ranks disagree with the logs.
    """
    found = begun() | {"histories": []}
    mistakes: dict[str, list[tuple[int, int]]] = {report.OURS: []}
    others = peers.peers()
    for seed in range(jobs):
        drawn = history.draw(seed)
        found["histories"].append(
            {
                "seed": seed,
                "samples": drawn.samples,
                "epochs": drawn.epochs,
                "worlds": len(drawn.worlds),
                "kills": sum(world.ends_by == "kill" for world in drawn.worlds),
            }
        )
        with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
            verdict = session.play(drawn, Path(folder))
        if verdict.problems and not (verdict.lost or verdict.repeated):
            raise AssertionError(f"the job of seed {seed}: {'; '.join(verdict.problems)}")
        mistakes[report.OURS].append((verdict.lost, verdict.repeated))
        for peer in others:
            made = peers.play(drawn, peer)
            mistakes.setdefault(peer.name, []).append((made.lost, made.repeated))
    return found | {"mistakes": mistakes, "load_after": os.getloadavg()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=200)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    found = measure(options.jobs)
    kept.keep("samples", found)


if __name__ == "__main__":
    main()
