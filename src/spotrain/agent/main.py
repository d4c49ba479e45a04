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
from spotrain.agent.command_line import brings_rendezvous, hides_stderr, parse
from spotrain.agent.environment import UsageError
from spotrain.agent.launch import launch


@record
def _record_and_launch(options: argparse.Namespace) -> int:
    return launch(options, os.environ)


def _set_up_logging() -> None:
    logging.basicConfig(
        level=os.environ.get("LOGLEVEL", "INFO"),
        format="%(asctime)s spotrain %(levelname)s %(message)s",
    )
    logging.getLogger("websockets").setLevel(logging.WARNING)
    # How ranks end is told by `worker`, once; what is ended as planned is no warning.
    torchs = logging.getLogger("torch.distributed.elastic.multiprocessing.api")
    torchs.setLevel(logging.ERROR)
    torchs.addFilter(lambda record: not record.getMessage().startswith("failed (exitcode"))


def main() -> None:
    options = parse(sys.argv[1:])
    if options.rdzv_id == "none" and brings_rendezvous(options):
        options.rdzv_id = str(uuid.uuid4())
    _set_up_logging()
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
        if hides_stderr(options.redirects):  # else the rank has shown its traceback itself
            print(error, file=sys.stderr)
        code = contract.EXIT_FAILED
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    sys.exit(code)
