"""The jobs of a cluster as lines of a table, whose columns the API server picks."""

from collections.abc import Iterator, Sequence

from spotrain.cli.cluster import TABLE, Cluster
from spotrain.cli.job_rows import JobRow, row_of
from spotrain.kinds import JOBS, Object


def list_rows(cluster: Cluster) -> Sequence[JobRow]:
    """In no order."""
    return list(_listed(cluster)[0].values())


def watch_rows(cluster: Cluster) -> Iterator[Sequence[JobRow]]:
    """All of them now and after every change, for ever."""
    while True:
        rows, columns, version = _listed(cluster)
        yield list(rows.values())
        for event, table in cluster.watch(JOBS, version, accept=TABLE):
            for name, row in _rows(table, columns):
                rows.pop(name, None)
                if event != "DELETED":
                    rows[name] = row
            yield list(rows.values())


def _listed(cluster: Cluster) -> tuple[dict[str, JobRow], Sequence[str], str]:
    """The rows by name, the names of their columns, and the version from which to watch."""
    rows: dict[str, JobRow] = {}
    columns: Sequence[str] = ()
    version = ""
    for page in cluster.pages(JOBS, accept=TABLE):
        columns = [column["name"] for column in page["columnDefinitions"]]
        version = page["metadata"]["resourceVersion"]
        rows.update(_rows(page, columns))
    return rows, columns, version


def _rows(table: Object, columns: Sequence[str]) -> Iterator[tuple[str, JobRow]]:
    """With the names of the jobs. A watch tells the columns once at most."""
    for row in table.get("rows") or []:
        metadata = row["object"]["metadata"]
        cells = dict(zip(columns, row["cells"], strict=False))
        yield metadata["name"], row_of(metadata, cells)
