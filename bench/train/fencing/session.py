"""The peers' session, whose saves can be caught between their acceptance and their publication.

Where OUTPUT/arm is, the next publication says so in OUTPUT/reached, then waits for OUTPUT/go.
"""

import json
import os
import runpy
import time
from pathlib import Path

from bench.train.peers.steps import WORKER_VARIABLE
from spotrain.checkpoints import store


class CatchingDirectory(store.Directory):
    def publish(self, name: str, target: str) -> None:
        wait_if_armed(self.path.parent, target)
        super().publish(name, target)


def wait_if_armed(folder: Path, target: str) -> None:
    try:
        os.rename(folder / "arm", folder / "caught")  # one publication takes it
    except FileNotFoundError:
        return
    about = {"worker": os.environ[WORKER_VARIABLE], "target": target}
    (folder / "caught").write_text(json.dumps(about))
    os.rename(folder / "caught", folder / "reached")
    while not (folder / "go").exists():
        time.sleep(0.01)


store.Directory = CatchingDirectory  # type: ignore[misc]  # what `open_store` opens
runpy.run_module("bench.train.peers.scripts.session", run_name="__main__")
