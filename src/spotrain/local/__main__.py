"""Run an ElasticJob file on this machine: `python -m spotrain.local JOB.yaml [options]`."""

import argparse
import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from spotrain import contract
from spotrain.job import ElasticJob, InvalidDocument, Pool, parse_job, parse_pools
from spotrain.local.arguments import UsageError, read_pairs, require_folder
from spotrain.local.engine import Engine
from spotrain.local.image import Image, NotLocal
from spotrain.local.machines import Options


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m spotrain.local", description=__doc__)
    parser.add_argument("job", type=Path, metavar="JOB.yaml", help="one ElasticJob")
    parser.add_argument(
        "--pools", type=Path, help="a pools ConfigMap; default: one pool of the job's own GPU"
    )
    parser.add_argument(
        "--image",
        type=Path,
        default=Path("training-image"),
        help="folder that stands for the image's working directory (%(default)s)",
    )
    parser.add_argument(
        "--volume", action="append", default=[], metavar="CLAIM=FOLDER", help="may be repeated"
    )
    parser.add_argument("--machines", type=int, default=8, help="nodes to be had (%(default)s)")
    parser.add_argument(
        "--folder", type=Path, default=Path("build/local"), help="logs and status (%(default)s)"
    )
    parser.add_argument(
        "--port", type=read_port, default=0, help="of the coordinator; 0: a free one"
    )
    return parser.parse_args(arguments)


def read_port(text: str) -> int:
    """Raises argparse's error, which becomes one line with the usage."""
    if text.isascii() and text.isdigit() and int(text) < 2**16:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is no port: give 0 to 65535, 0 for a free one")


def load(path: Path) -> Mapping[str, Any]:
    if not path.is_file():
        raise UsageError(f"{path}: no such file; give the path of a YAML file")
    try:
        document = yaml.safe_load(path.read_text())
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UsageError(
            f"{path}: cannot be read as YAML: {' '.join(str(error).split())}"
        ) from None
    if not isinstance(document, dict):
        raise UsageError(f"{path}: holds no mapping; give one document, an {contract.KIND}")
    return document


def load_pools(path: Path | None, job: ElasticJob) -> tuple[Pool, ...]:
    if path is not None:
        text = (load(path).get("data") or {}).get(contract.POOLS_KEY)
        if not isinstance(text, str):
            raise UsageError(f"{path}: has no data.{contract.POOLS_KEY}; give a pools ConfigMap")
        return parse_pools(text)
    gpu = job.placement.gpu or contract.NO_GPU
    pool = {
        "name": f"{gpu}-local",
        "gpu": gpu,
        "gpusPerNode": max(1, job.gpus_per_worker),
        "capacity": contract.CAPACITY_ON_DEMAND,
        "zones": ["here"],
        "instanceTypes": ["this-machine"],
        "maxNodes": 1000,
        "noticeSeconds": 90,
        "onDemandUsdPerHour": 0,  # nobody bills the machine that one sits at
    }
    return parse_pools(yaml.safe_dump([pool]))


def load_engine(options: argparse.Namespace) -> Engine:
    job = parse_job(load(options.job))
    if options.machines < job.min_replicas:
        raise UsageError(
            f"--machines {options.machines}: the job needs {job.min_replicas} workers at least, "
            "and each has a machine of its own"
        )
    claims = read_pairs(options.volume, "--volume", "CLAIM=FOLDER")
    settings = Options(
        folder=options.folder,
        image=Image(workdir=require_folder(options.image, "--image")),
        volumes={
            claim: require_folder(Path(folder), f"--volume {claim}")
            for claim, folder in claims.items()
        },
        capacity=options.machines,
        port=options.port,
    )
    return Engine(job, load_pools(options.pools, job), settings)


def explain_failure(folder: Path) -> None:
    """The end of the log that was written last: what the job's own output says."""
    logs = sorted((folder / "logs").glob("*.log"), key=lambda path: path.stat().st_mtime)
    if logs:
        tail = logs[-1].read_text(errors="replace").splitlines()[-15:]
        print(f"--- end of {logs[-1]}", *tail, sep="\n", file=sys.stderr)


async def run(engine: Engine) -> str:
    """Run the job to its end and print what happens; returns its outcome."""
    told = 0

    def tell() -> None:
        nonlocal told
        for happening in engine.story[told:]:
            print(happening.text, flush=True)
        told = len(engine.story)

    engine.watchers.append(tell)
    async with engine.running():
        await engine.until(lambda: engine.status.finished)
    tell()
    return engine.report().outcome


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    try:
        engine = load_engine(options)
        outcome = asyncio.run(run(engine))
    except (UsageError, InvalidDocument, NotLocal) as error:
        print(f"spotrain.local: {error}", file=sys.stderr)
        return contract.EXIT_USAGE
    except OSError as error:
        print(f"spotrain.local: {error}", file=sys.stderr)
        return contract.EXIT_FAILED
    except KeyboardInterrupt:
        print("stopped; no process is left behind", file=sys.stderr)
        return 130
    if outcome != "succeeded":
        explain_failure(options.folder)
    print(f"logs: {options.folder / 'logs'}")
    return contract.EXIT_OK if outcome == "succeeded" else contract.EXIT_FAILED


if __name__ == "__main__":
    sys.exit(main())
