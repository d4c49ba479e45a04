"""The jobs in a namespace of a cluster."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spotrain import contract
from spotrain.cli.cluster import METADATA, Cluster
from spotrain.cli.cluster_rows import list_rows, watch_rows
from spotrain.cli.errors import INTERRUPTED, UserError
from spotrain.cli.job_rows import JobRow
from spotrain.cli.jobs import name_taken, names_of, no_such_job
from spotrain.cli.outages import outlasting
from spotrain.cli.refusals import NotThere, Taken
from spotrain.kinds import JOBS, Object


@dataclass(frozen=True)
class ClusterJobs:
    """`Jobs` of a cluster."""

    cluster: Cluster

    @property
    def where(self) -> str:
        return f"in namespace {self.cluster.namespace!r}"

    def list(self) -> Sequence[Object]:
        return self.cluster.list_all(JOBS)

    def names(self) -> Sequence[str]:
        pages = self.cluster.pages(JOBS, accept=METADATA)
        return names_of(item for page in pages for item in page.get("items") or [])

    def rows(self) -> Sequence[JobRow]:
        return list_rows(self.cluster)

    def watch_rows(self) -> Iterator[Sequence[JobRow]]:
        return outlasting(lambda: watch_rows(self.cluster))

    def watch_sweep(self, sweep: str) -> Iterator[Sequence[Object]]:
        return outlasting(lambda: self._watch_sweep(sweep))

    def _watch_sweep(self, sweep: str) -> Iterator[Sequence[Object]]:
        only = f"{contract.LABEL_SWEEP}={sweep}"
        while True:
            items, version = self.cluster.list_versioned(JOBS, labels=only)
            found = {item["metadata"]["name"]: item for item in items}
            yield list(found.values())
            for event, item in self.cluster.watch(JOBS, version, labels=only):
                found.pop(item["metadata"]["name"], None)
                if event != "DELETED":
                    found[item["metadata"]["name"]] = item
                yield list(found.values())

    def get(self, name: str) -> Object:
        try:
            return self.cluster.get(JOBS, name)
        except NotThere:
            raise self._unknown(name) from None

    def create(self, document: Mapping[str, Any]) -> Object:
        name = document["metadata"]["name"]
        try:
            return self.cluster.create(JOBS, document)
        except Taken:
            raise name_taken(name, self.where) from None
        except KeyboardInterrupt:
            raise UserError(
                f"interrupted while {name} was sent: whether it was taken, spotrain list tells.",
                exit_code=INTERRUPTED,
            ) from None

    def patch(self, name: str, change: Mapping[str, Any]) -> Object:
        try:
            return self.cluster.patch(JOBS, name, change)
        except NotThere:
            raise self._unknown(name) from None

    def delete(self, name: str) -> None:
        self.cluster.delete(JOBS, name, uid=self.get(name)["metadata"]["uid"])

    def watch(self, name: str) -> Iterator[Object]:
        is_known = False

        def begin() -> Iterator[Object]:
            nonlocal is_known
            for document in self._watch(name, is_known=is_known):
                is_known = True
                yield document

        return outlasting(begin)

    def _watch(self, name: str, *, is_known: bool) -> Iterator[Object]:
        only = f"metadata.name={name}"
        while True:
            items, version = self.cluster.list_versioned(JOBS, fields=only)
            if not items and is_known:
                return  # deleted while nobody looked
            if not items:
                raise self._unknown(name)
            is_known = True
            yield items[0]
            for kind, item in self.cluster.watch(JOBS, version, fields=only):
                if kind == "DELETED":
                    return
                yield item

    def _unknown(self, name: str) -> NotThere:
        return no_such_job(name, self.names(), self.where)
