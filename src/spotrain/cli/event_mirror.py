"""A copy on this machine of what some jobs tell TensorBoard, brought up to date again and again."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from spotrain.archive.errors import NotFound
from spotrain.archive.records import EventFile
from spotrain.checkpoints.store import is_in_bucket
from spotrain.cli.event_sources import EventSource
from spotrain.cli.growing_file import write_from
from spotrain.cli.output import say
from spotrain.cli.wording import size

MOST_BYTES: Final = 2 * 1000**3
"""Of all files together: whoever may run a job may write any file under such a name."""


@dataclass
class EventMirror:
    """Below `folder` a folder a job, with its event files at the same paths."""

    folder: Path
    most: int = MOST_BYTES
    _sizes: dict[Path, int] = field(default_factory=dict)
    """Of the files that are here."""
    _left_out: set[Path] = field(default_factory=set)
    _in_buckets: set[str] = field(default_factory=set)
    """Jobs."""

    @property
    def count(self) -> int:
        """Files that are here."""
        return len(self._sizes)

    def update(self, source: EventSource, job: str, output: str) -> bool:
        """Fetch what is new in the job's output folder; whether there is such a folder.

        Those in a bucket are told of, once, and left to a TensorBoard that can read buckets.

        Raises an ArchiveError, OSError, or what the source's connection does.
        """
        if is_in_bucket(output):
            if job not in self._in_buckets:
                say(
                    f"event files of {job} would be in {output}, and are not fetched from there: "
                    f"tensorboard --logdir {output}, with what it needs for such a bucket, shows "
                    "them."
                )
            self._in_buckets.add(job)
            return False
        try:
            files = source.event_files(output)
        except NotFound:
            return False
        for file in files:
            path = self.folder / job / file.path
            if path.resolve().is_relative_to(self.folder.resolve()):  # as whoever is asked says
                self._fetch(source, output, file, path)
        return True

    def _fetch(self, source: EventSource, output: str, file: EventFile, path: Path) -> None:
        there = self._sizes.get(path, 0)
        if there > file.size:  # written anew
            path.unlink()
            there = self._sizes[path] = 0
        if sum(self._sizes.values()) + file.size - there > self.most:
            if path not in self._left_out:
                say(f"{file.path} is left out: no more than {size(self.most)} in all is fetched.")
            self._left_out.add(path)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        while there < file.size and (piece := source.event_bytes(output, file.path, there)):
            write_from(path, there, piece)
            there += len(piece)
            self._sizes[path] = there
