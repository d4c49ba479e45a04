"""Where jobs live: in a namespace of a cluster, or on this machine. Verbs know no difference."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any, Final, Protocol

from spotrain.cli.job_rows import JobRow
from spotrain.cli.refusals import NotThere, Taken
from spotrain.kinds import Object

SHOWN: Final = 8
"""Names that an error lists when none is near."""


class Jobs(Protocol):
    """The jobs of one place, as the API server's documents."""

    @property
    def where(self) -> str:
        """In words: in namespace 'team'."""

    def list(self) -> Sequence[Object]:
        """All of them, in no order."""

    def names(self) -> Sequence[str]:
        """Of all of them, the oldest first, for far less than their documents."""

    def rows(self) -> Sequence[JobRow]:
        """All of them as lines of a table, in no order, for far less than their documents."""

    def watch_rows(self) -> Iterator[Sequence[JobRow]]:
        """The same now and after every change, for ever."""

    def watch_sweep(self, sweep: str) -> Iterator[Sequence[Object]]:
        """The jobs of a sweep now and after every change, in no order, for ever."""

    def get(self, name: str) -> Object:
        """Raises NotThere, which names jobs of near names."""

    def create(self, document: Mapping[str, Any]) -> Object:
        """Raises Taken where there is one of the name."""

    def patch(self, name: str, change: Mapping[str, Any]) -> Object:
        """A merge patch. Raises NotThere."""

    def delete(self, name: str) -> None:
        """Raises NotThere."""

    def watch(self, name: str) -> Iterator[Object]:
        """The job now and after every change, until it is deleted. Raises NotThere."""


@contextmanager
def opened(*, context: str | None, namespace: str | None, local: bool = False) -> Iterator[Jobs]:
    """The jobs that the options of a command name. Raises UserError where there is no cluster."""
    if local:
        from spotrain.cli.local_jobs import LocalJobs, own_shelf

        yield LocalJobs(own_shelf())
        return
    from spotrain.cli.cluster import connected
    from spotrain.cli.cluster_jobs import ClusterJobs

    with connected(context, namespace) as cluster:
        yield ClusterJobs(cluster)


def names_of(documents: Iterable[Object]) -> Sequence[str]:
    """The oldest first."""
    ordered = sorted(documents, key=lambda each: str(each["metadata"]["creationTimestamp"]))
    return [str(each["metadata"]["name"]) for each in ordered]


def no_such_job(name: str, known: Sequence[str], where: str) -> NotThere:
    near = get_close_matches(name, known, n=3)
    if near:
        hint = f"Did you mean {' or '.join(near)}?"
    elif known:
        rest = f" and {len(known) - SHOWN} more" if len(known) > SHOWN else ""
        hint = f"There are {', '.join(sorted(known)[:SHOWN])}{rest}."
    else:
        hint = "There is none at all: spotrain submit makes one."
    return NotThere(f"there is no job {name!r} {where}. {hint}")


def name_taken(name: str, where: str, *, options: str = "") -> Taken:
    """`options`: with which the job is found there."""
    return Taken(
        f"there is already a job {name!r} {where}: choose another name, or remove that one with "
        f"{' '.join(filter(None, ('spotrain delete', name, options)))}."
    )
