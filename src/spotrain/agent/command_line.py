"""The options of `spotrain-run`, which are torchrun's."""

import argparse
from pathlib import Path

from torch.distributed import run as torchrun
from torch.distributed.elastic.multiprocessing import Std

from spotrain.agent.environment import UsageError


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = torchrun.get_args_parser()
    parser.prog = "spotrain-run"
    parser.description = (
        "Starts a training script on the GPUs of this machine, and trains through interruptions. "
        "Options are torchrun's. In an ElasticJob the coordinator forms the worlds; on one box "
        "(--standalone) nothing else is needed; the --rdzv, --node-rank and --master options count "
        "only where a job brings torch's own rendezvous."
    )
    parser.epilog = (
        "spotrain-run --standalone --nproc-per-node 4 train.py --lr 0.1   (Ctrl-C saves and leaves)"
    )
    return parser.parse_args(arguments)


def require_script(options: argparse.Namespace) -> None:
    """A missing script would be found by every rank of every world, again and again."""
    is_file = not (options.module or options.no_python or options.run_path)
    if is_file and not Path(options.training_script).is_file():
        raise UsageError(
            f"{options.training_script}: no such script in {Path.cwd()}; give its path, or -m and "
            "the name of a module"
        )


def brings_rendezvous(options: argparse.Namespace) -> bool:
    """Whether torch's own rendezvous is asked for."""
    if options.standalone:
        return False
    return bool(options.rdzv_endpoint) or options.nnodes not in ("1", "1:1")


def hides_stderr(redirects: str) -> bool:
    """Whether `--redirects` keeps what some rank writes to stderr off the console."""
    given = Std.from_str(redirects)
    return any(Std.ERR in std for std in (given.values() if isinstance(given, dict) else [given]))
