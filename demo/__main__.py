"""`make demo`: train on real data on this machine, interrupt it, and judge what is left.

Writes build/demo/report.json, and ends with a code other than 0 if accuracy, exactness or
recovery fall short.
"""

import asyncio
import json
import logging
import shutil
import sys
from pathlib import Path

import yaml
from rich.console import Console

from demo.digits import write_digits
from demo.display import print_report, showing
from demo.report import Report, judge
from demo.scenario import Scenario, ScenarioError, wait_or_fail
from spotrain import contract
from spotrain.job import parse_job, parse_pools
from spotrain.local.engine import Engine
from spotrain.local.image import Image
from spotrain.local.machines import Options

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "demo"
LIMIT_SECONDS = 240.0


def load_engine(folder: Path) -> Engine:
    """The example job on the example's pools, with the training image's scripts."""
    examples = ROOT / "k8s" / "examples"
    job = parse_job(yaml.safe_load((examples / "digits.yaml").read_text()))
    config_map = yaml.safe_load((examples / "pools.yaml").read_text())
    options = Options(
        folder=folder,
        image=Image(workdir=ROOT / "training-image"),
        volumes={contract.VOLUME_CLAIM: folder / "efs"},
        environment={contract.ENV_SAMPLE_LOG: str(folder / "samples"), "OMP_NUM_THREADS": "1"},
        capacity=3,
    )
    return Engine(job, parse_pools(config_map["data"][contract.POOLS_KEY]), options)


async def run(folder: Path, console: Console) -> Report:
    data = folder / "efs" / contract.DATA_DIR / "digits"
    training_images = write_digits(data)
    engine = load_engine(folder)
    async with engine.running(), showing(engine, console):
        await wait_or_fail(Scenario(engine), limit_seconds=LIMIT_SECONDS)
    return judge(
        engine,
        output=folder / "efs" / contract.OUTPUT_DIR / "digits",
        samples=folder / "samples",
        training_images=training_images,
    )


def main() -> int:
    logging.basicConfig(level=logging.ERROR)
    console = Console()
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    try:
        report = asyncio.run(run(FOLDER, console))
    except (ScenarioError, OSError) as error:
        console.print(f"[red]the demo failed:[/] {error}")
        return 1
    except KeyboardInterrupt:
        console.print("stopped; no process is left behind")
        return 130
    (FOLDER / "report.json").write_text(json.dumps(report.document(), indent=2) + "\n")
    print_report(report, console)
    console.print(f"report: {(FOLDER / 'report.json').relative_to(ROOT)}")
    return 1 if report.problems else 0


if __name__ == "__main__":
    sys.exit(main())
