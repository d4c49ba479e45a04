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

from pydantic import ValidationError

from spotrain.job import InvalidDocument
from spotrain.job.documents import Section, explain
from spotrain.local.files import read_document, replace_file

STATUS: Final = "status.json"
OBJECTS: Final = "objects.json"
WORLD_NUMBER: Final = "world-number"

Objects = Mapping[str, list[Any]]
"""pods, nodes, events."""
_REMOVE_IT: Final = (
    "",
    "Remove this file: nothing else is lost with it, and while the job runs it is written anew.",
)
NO_OBJECTS: Final[Objects] = {"pods": [], "nodes": [], "events": []}


class KeptObjects(Section, extra="ignore"):
    """What is taken for granted of them; the rest is read as a cluster's answers are."""

    pods: list[Mapping[str, Any]]
    nodes: list[Mapping[str, Any]]
    events: list[Mapping[str, Any]]


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
        """Raises InvalidDocument."""
        file = self._folder / OBJECTS
        try:
            found: Objects = read_document(file)
            KeptObjects.model_validate(found)
        except FileNotFoundError:
            return NO_OBJECTS
        except ValidationError as error:
            raise InvalidDocument(str(file), [*explain(error, KeptObjects), _REMOVE_IT]) from None
        except InvalidDocument as error:
            raise InvalidDocument(str(file), [error.problems[0], _REMOVE_IT]) from None
        return found

    def write_world_number(self, number: int) -> None:
        replace_file(self._folder / WORLD_NUMBER, f"{number}\n")

    def read_world_number(self) -> int:
        """0 where there was no world; numbers never come again, whoever runs the job."""
        try:
            return int((self._folder / WORLD_NUMBER).read_text())
        except (FileNotFoundError, ValueError):
            return 0
