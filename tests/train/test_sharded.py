"""Sharded models: every rank writes its part, and any number of ranks reads the whole."""

import json
import subprocess
import sys
from pathlib import Path

from spotrain.train.checkpoint import Catalogue
from spotrain.worlds import Limits
from tests.train.fleet import fleet
from tests.train.story import grows_to_three, reaches_its_end, shrinks_to_one

SCRIPT = Path(__file__).parent / "scripts" / "sharded.py"
LIMITS = Limits(min_size=1, max_size=3, desired_size=2, growth_delay_seconds=0.2, max_restarts=0)

RANK = """
import sys
from pathlib import Path
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor
from spotrain.train import parts
from spotrain.train.checkpoint import Catalogue, CheckpointId

folder, world, rank, mode = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
store = dist.FileStore(str(folder / f"store-{mode}-{world}"), world)
dist.init_process_group("gloo", store=store, rank=rank, world_size=world)
mesh = init_device_mesh("cpu", (world,))
whole = torch.arange(35.0).reshape(7, 5)
catalogue, id = Catalogue(folder / "checkpoints"), CheckpointId(1, world)

def exchange(own, deal_out):
    plans = [None] * world if rank == 0 else None
    dist.gather_object(own, plans)
    share = [None]
    dist.scatter_object_list(share, deal_out(plans) if rank == 0 else None)
    return share[0]

if mode == "save":
    sharded = distribute_tensor(whole, mesh, [Shard(0)])
    state = {"w": sharded, "plain": torch.full((3,), 2.0), "lr": 0.1}
    part = parts.plan(state, rank=rank, exchange=exchange)
    written = [None] * world if rank == 0 else None
    dist.gather_object(catalogue.write(id, f"{id}.attempt", part), written)
    if rank == 0:
        catalogue.describe(id, written, epoch=0, cursor=0).publish()
else:
    manifest = catalogue.newest_intact()
    empty = distribute_tensor(torch.zeros(7, 5), mesh, [Shard(0)])
    loaded = catalogue.load(manifest, like={"w": empty, "plain": torch.zeros(3), "lr": 0.0})
    assert torch.equal(loaded["w"].full_tensor(), whole)
    assert torch.equal(loaded["plain"], torch.full((3,), 2.0))
    assert loaded["lr"] == 0.1
dist.barrier()
dist.destroy_process_group()
"""


def run_ranks(folder: Path, world: int, mode: str) -> None:
    ranks = [
        subprocess.Popen([sys.executable, "-c", RANK, str(folder), str(world), str(rank), mode])
        for rank in range(world)
    ]
    assert [rank.wait(timeout=240) for rank in ranks] == [0] * world


def test_what_three_ranks_wrote_two_ranks_and_one_process_read(tmp_path: Path) -> None:
    run_ranks(tmp_path, 3, "save")
    (manifest,) = Catalogue(tmp_path / "checkpoints").manifests()
    names = sorted(name.split("/")[1] for name in manifest.files)
    assert names == ["data-00000.bin", "data-00001.bin", "data-00002.bin", "index.json"]
    folder = tmp_path / "checkpoints" / manifest.folder
    index = json.loads((folder / "index.json").read_text())
    assert [chunk["sizes"] for chunk in index["tensors"]["w"]["chunks"]] == [[3, 5], [3, 5], [1, 5]]
    run_ranks(tmp_path, 2, "load")
    whole = Catalogue(tmp_path / "checkpoints").load(manifest)["w"]
    assert whole.flatten().tolist() == list(range(35))


async def test_a_sharded_model_goes_through_growth_notice_and_loss(tmp_path: Path) -> None:
    async with fleet(tmp_path, [str(SCRIPT), str(tmp_path / "out")], LIMITS) as job:
        await grows_to_three(job)
        await shrinks_to_one(job)
        report, _ = await reaches_its_end(job)
    planned = [chapter.steps_lost for chapter in report.history[:-2]]
    assert planned == [0] * len(planned)
