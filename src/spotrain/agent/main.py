"""`spotrain-run`: takes torchrun's options, and trains through interruptions.

Where the worlds come from:
- a coordinator, when SPOTRAIN_COORDINATOR is set (an ElasticJob sets it);
- a coordinator of its own, with --standalone or when nothing else is asked for: one box;
- torch's own rendezvous, when --rdzv-endpoint or several static nodes are given: then this is
  plain torchrun, for jobs that bring their own rendezvous.
"""

import argparse
import logging
import os
import shutil
import sys
import tempfile
import uuid

from torch.distributed.elastic.multiprocessing import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError, record

from spotrain import contract
from spotrain.agent.command_line import brings_rendezvous, parse
from spotrain.agent.environment import UsageError
from spotrain.agent.launch import launch


@record
def _record_and_launch(options: argparse.Namespace) -> int:
    return launch(options, os.environ)


def main() -> None:
    options = parse(sys.argv[1:])
    if options.rdzv_id == "none" and brings_rendezvous(options):
        options.rdzv_id = str(uuid.uuid4())
    logging.basicConfig(
        level=os.environ.get("LOGLEVEL", "INFO"),
        format="%(asctime)s spotrain %(levelname)s %(message)s",
    )
    logging.getLogger("websockets").setLevel(logging.WARNING)
    # torch leaves a folder of error files behind at every run; without --log-dir nobody wants it.
    # It has to outlive the launch, since `record` reads it when the launch has failed.
    scratch = tempfile.mkdtemp(prefix="spotrain-logs-")
    options.log_dir = options.log_dir or scratch
    try:
        code = _record_and_launch(options)
    except UsageError as error:
        print(f"spotrain-run: {error}", file=sys.stderr)
        code = contract.EXIT_USAGE
    except SignalException as error:
        code = 128 + int(error.sigval)
    except ChildFailedError as error:
        print(error, file=sys.stderr)
        code = contract.EXIT_FAILED
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    sys.exit(code)
