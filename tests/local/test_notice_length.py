"""Jobs on pools with the notice that GKE gives: 105 seconds, or 15 where nobody asks for more.

Real agents and ranks on made-up machines. A machine goes when its notice is over, or when its
worker has left it, whichever comes first: no test waits for the end of a notice.
"""

import asyncio
import re
from pathlib import Path

import pytest
import yaml

from spotrain.job import parse_job, parse_pools
from spotrain.local.engine import Engine
from spotrain.local.image import Image
from spotrain.local.machines import Options
from spotrain.worlds import Reason

ROOT = Path(__file__).resolve().parents[2]
SESSION = ROOT / "tests" / "train" / "scripts" / "session.py"
HANG_SECONDS = 240


def engine(folder: Path, *options: str, notice_seconds: int, workers: int) -> Engine:
    """A job of the example's form that trains until it is told that this is enough."""
    pools = f"""
    - {{name: t4-spot, gpu: t4, gpusPerNode: 1, capacity: spot, zones: [us-central1-a],
       instanceTypes: [n1-standard-4], maxNodes: 8, noticeSeconds: {notice_seconds},
       onDemandUsdPerHour: 0.54}}
    """
    document = yaml.safe_load((ROOT / "k8s" / "examples" / "digits.yaml").read_text())
    document["spec"] |= {"minReplicas": 1, "maxReplicas": workers, "backoffLimit": 0}
    worker = document["spec"]["replicaSpecs"]["Worker"]
    worker["replicas"] = workers
    (container,) = worker["template"]["spec"]["containers"]
    container["args"] = [str(SESSION), "/mnt/efs/out", *options]
    settings = Options(
        folder=folder / "job",
        image=Image(workdir=ROOT),
        volumes={"efs": folder},
        boot_seconds=0.01,
    )
    return Engine(parse_job(document), parse_pools(pools), settings)


async def until_trains(job: Engine, *, size: int, worlds: int) -> None:
    """Until the `worlds`th world that trains, or a later one, has done five steps with so many."""

    def trains() -> bool:
        report = job.report()
        trained = [world for world in report.history if world.first_step is not None]
        done = report.step - (trained[-1].first_step or 0) if trained else 0
        return len(trained) >= worlds and report.size == size and done >= 5

    async with asyncio.timeout(HANG_SECONDS):
        while not trains():  # steps alone wake nobody
            await asyncio.sleep(0.05)


def said_by_workers(folder: Path) -> str:
    kept = (folder / "job" / "archive" / "logs").rglob("*.jsonl")
    return "".join(path.read_text() for path in sorted(kept))


@pytest.mark.parametrize("seconds", [105, 15])
async def test_an_interruption_with_so_much_notice_loses_no_step(
    tmp_path: Path, seconds: int
) -> None:
    job = engine(tmp_path, notice_seconds=seconds, workers=2)
    async with job.running():
        await until_trains(job, size=2, worlds=1)
        (gone, *_) = job.machines.alive
        (pod,) = job.machines.pods_on(gone)
        job.machines.reclaim(gone)
        await until_trains(job, size=2, worlds=2)
        first, *_ = [world for world in job.report().history if world.first_step is not None]
        assert (first.reason, first.steps_lost) == (Reason.NOTICE, 0)
        assert gone.ended_at is not None
        assert pod.exit_code == 143
    assert pod.manifest["spec"]["terminationGracePeriodSeconds"] == seconds
    assert f"notice: leaving within {seconds} s, saving first" in said_by_workers(tmp_path)
    assert job.status.restarts.disruptions == 1
    assert job.status.restarts.failures == 0


async def test_a_save_that_cannot_fit_into_the_notice_is_said_before_the_first_step(
    tmp_path: Path,
) -> None:
    """Saves of 6 s: two of them are more than three quarters of 15 s."""
    job = engine(tmp_path, "--slow-volume", "6", notice_seconds=15, workers=1)
    async with job.running():
        async with asyncio.timeout(HANG_SECONDS):
            await job.until(lambda: job.status.finished)
        failed = job.status.condition("Failed")
        assert failed
        assert job.report().step == 0
    assert re.search(r"a save of \d+ MB took [\d.]+ s; a notice has to hold 2", failed.message)
    assert "of its 15 s a change may take 11 s" in failed.message
    assert not list((tmp_path / "out" / "checkpoints").glob("*.json"))


async def test_the_same_save_fits_into_the_longer_notice_and_the_job_trains(tmp_path: Path) -> None:
    job = engine(tmp_path, "--slow-volume", "6", notice_seconds=105, workers=1)
    async with job.running():
        await until_trains(job, size=1, worlds=1)
        assert not job.status.is_true("Failed")
