"""From the raw data to the table in docs/performance.md. Pure."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import median, quantiles
from typing import Any

from bench import page
from bench.figure import GREEN, GREY, Dots, Series
from bench.page import met
from spotrain.controller.model import REFRESH_SECONDS

HEAD = ("what", "measured", "beside it", "ratio", "goal", "")


def table(found: dict[str, Any]) -> str:
    rows = [
        *_latency(found["latency_ms"]),
        *_throughput(found),
        *_writes(found),
        *_progress(found["progress"]),
        *_memory(found),
    ]
    shared = "times are those of a shared machine, ratios are within one run."
    return f"{page.ran_on(found)}: {shared}\n\n{page.table(HEAD, rows)}"


def figure(found: dict[str, Any]) -> Dots:
    trials = found["latency_ms"]
    rows = {
        "replacement's create": ("replacement", "the controller", GREEN),
        "a bare watcher hears of it": ("watcher", "a bare watcher", GREY),
    }
    series = [
        Series(label=label, color=color, rows={row: [trial[key] for trial in trials]})
        for row, (key, label, color) in rows.items()
    ]
    return Dots(title="Every trial: after a pod was deleted", unit="milliseconds", series=series)


Row = tuple[str, str, str, str, str, str]


def _latency(trials: Sequence[dict[str, float]]) -> Iterable[Row]:
    ours, bare = ([t[key] for t in trials] for key in ("replacement", "watcher"))
    for name, share in (("p50", 50), ("p99", 99)):
        mine, theirs = percentile(ours, share), percentile(bare, share)
        goal = "<= 2" if name == "p50" else ""
        what = f"pod deleted to replacement's create at the API server, {name} of {len(ours)}"
        yield (
            what,
            f"{mine:.1f} ms",
            f"{theirs:.1f} ms, a bare watcher hears of the deletion",
            f"{mine / theirs:.2f}",
            goal,
            met(mine / theirs <= 2) if goal else "",
        )


def _throughput(found: dict[str, Any]) -> Iterable[Row]:
    rounds = found["throughput"]["rounds"]
    for jobs in sorted({row["jobs"] for row in rounds}):
        of_size = [row for row in rounds if row["jobs"] == jobs]
        mine = median(row["controller"]["jobs_per_s"] for row in of_size)
        for client in ("lightkube", "httpx2", "aiohttp"):
            theirs = median(row[client]["jobs_per_s"] for row in of_size)
            ratio = median(
                row["controller"]["jobs_per_s"] / row[client]["jobs_per_s"] for row in of_size
            )
            goal = ">= 0.8" if client == "lightkube" else ""
            yield (
                f"{jobs} jobs of {found['throughput']['workers']} pods, to all pods created",
                f"{mine:.1f} jobs/s",
                f"{theirs:.1f} jobs/s, bare {client}",
                f"{ratio:.2f}",
                goal,
                met(ratio >= 0.8) if goal else "",
            )


def _writes(found: dict[str, Any]) -> Iterable[Row]:
    written = found["writes"]
    statuses = written.get("patch elasticjobs/status", 0)
    # Four created, four ready, one gone, one new, one ready, one finished.
    changes = 12
    others = ", ".join(f"{n} {what}" for what, n in sorted(written.items()) if "status" not in what)
    yield (
        "status writes in a job's life of 12 pod changes",
        str(statuses),
        others,
        f"{statuses / changes:.2f} a change",
        "<= 3 a change",
        met(statuses <= 3 * changes),
    )


def _progress(told: dict[str, Any]) -> Iterable[Row]:
    written, seconds = told["written_at"], told["seconds"]
    gaps = [later - at for at, later in pairwise(written)]
    # So many fit into the time when one starts it; none at all would be silence, not thrift.
    most = 1 + int(seconds // REFRESH_SECONDS)
    yield (
        f"status writes in {seconds:.0f} s of training",
        str(len(written)),
        f"{told['reports']} reports of a step, two a second",
        f"at least {min(gaps):.1f} s apart" if gaps else "",
        f"<= 1 per {REFRESH_SECONDS} s",
        met(0 < len(written) <= most),
    )


def _memory(found: dict[str, Any]) -> Iterable[Row]:
    rounds = found["throughput"]["rounds"]
    if not rounds:
        return
    most = max(row["jobs"] for row in rounds)
    peak = max(row["controller"]["peak_mib"] for row in rounds if row["jobs"] == most)
    yield f"memory at {most} jobs, peak", f"{peak:.0f} MiB", "", "", "< 200 MiB", met(peak < 200)


def percentile(values: Sequence[float], share: int) -> float:
    return quantiles(values, n=100, method="inclusive")[share - 1]
