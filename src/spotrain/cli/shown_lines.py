"""Which lines were shown, so that a log which is read again from there on shows none twice."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Final

from spotrain.archive.log_lines import Cursor, Resumption
from spotrain.archive.records import LogLine

LATE: Final = timedelta(minutes=5)
"""A worker that has not spoken yet may turn up with lines of so long ago: whoever collects them
reads one pod after the other."""


class ShownLines:
    """Usage: `for line in shown.new(lines)`, each time that they are read, `since` on."""

    def __init__(self) -> None:
        self._cursors: dict[str, Cursor] = {}
        """Uid of a pod -> how far its lines were shown; they come in their order."""
        self._newest: dict[int, str] = {}
        """Worker -> the time of its newest."""

    @property
    def since(self) -> str:
        """From when on lines may be new, as `LogLine.at` has it; empty: all may."""
        if not self._newest:
            return ""
        oldest = datetime.fromisoformat(min(self._newest.values())[:19])
        return f"{oldest - LATE:%Y-%m-%dT%H:%M:%S}.000000000Z"

    def new(self, lines: Iterable[LogLine]) -> Iterator[LogLine]:
        """Those that were not shown yet; they are now."""
        resumptions = {uid: Resumption(cursor) for uid, cursor in self._cursors.items()}
        for line in lines:
            uid = line.pod_uid
            if uid in resumptions and not resumptions[uid].is_new(line.at):
                continue
            self._cursors[uid] = self._cursors.get(uid, Cursor()).advance(line.at)
            self._newest[line.worker] = max(line.at, self._newest.get(line.worker, ""))
            yield line
