"""What an engine leaves in the folder of its job, for the next one and for whoever looks.

status.json     as the job's status in a cluster
objects.json    pods, nodes and events, as an API server would tell of them
world-number    of the newest world
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from spotrain.local.files import replace_file

STATUS: Final = "status.json"
OBJECTS: Final = "objects.json"
WORLD_NUMBER: Final = "world-number"

Objects = Mapping[str, list[Any]]
"""pods, nodes, events."""
NO_OBJECTS: Final[Objects] = {"pods": [], "nodes": [], "events": []}


class JobFiles:
    """Raises OSError where the folder cannot be written."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._objects: Objects = {}

    def write_status(self, status: Mapping[str, Any]) -> None:
        replace_file(self._folder / STATUS, json.dumps(status, indent=2) + "\n")

    @property
    def last_alive(self) -> datetime | None:
        """When the status was written last; None: never."""
        try:
            return datetime.fromtimestamp((self._folder / STATUS).stat().st_mtime, UTC)
        except FileNotFoundError:
            return None

    def write_objects(self, objects: Objects) -> None:
        if objects != self._objects:
            replace_file(self._folder / OBJECTS, json.dumps(objects) + "\n")
            self._objects = objects

    def read_objects(self) -> Objects:
        try:
            found: Objects = json.loads((self._folder / OBJECTS).read_text())
        except FileNotFoundError:
            return NO_OBJECTS
        return found

    def write_world_number(self, number: int) -> None:
        replace_file(self._folder / WORLD_NUMBER, f"{number}\n")

    def read_world_number(self) -> int:
        """0 where there was no world; numbers never come again, whoever runs the job."""
        try:
            return int((self._folder / WORLD_NUMBER).read_text())
        except (FileNotFoundError, ValueError):
            return 0
