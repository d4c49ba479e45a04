"""`python -m spotrain.local FOLDER`: run the job of that folder in the background.

`spotrain run` and `spotrain submit --local` are for people; this process is what the latter leaves
behind. It ends with the job. SIGTERM ends it at once, with the job's workers.
"""

import asyncio
import signal
import sys
from datetime import datetime
from pathlib import Path

from spotrain import contract
from spotrain.job import InvalidDocument
from spotrain.local.image import NotLocal
from spotrain.local.service import run_job
from spotrain.local.shelf import AlreadyRun, NoSuchJob, StoredJob


def tell(text: str) -> None:
    print(f"{datetime.now():%H:%M:%S} {text}", flush=True)


async def serve(folder: Path) -> bool:
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task
    loop.add_signal_handler(signal.SIGTERM, task.cancel)
    stored = StoredJob(folder)
    with stored.running():
        return await run_job(stored, tell)


def main() -> int:
    (folder,) = sys.argv[1:]
    try:
        return contract.EXIT_OK if asyncio.run(serve(Path(folder))) else contract.EXIT_FAILED
    except (AlreadyRun, NoSuchJob, InvalidDocument, NotLocal, OSError) as error:
        told = " ".join(str(error).split())  # whoever started it shows the last line
        tell(f"cannot run: {told}")
        return contract.EXIT_FAILED
    except asyncio.CancelledError:
        tell("stopped by SIGTERM")
        return contract.EXIT_NOTICE


if __name__ == "__main__":
    sys.exit(main())
