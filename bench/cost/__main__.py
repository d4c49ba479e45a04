"""What jobs save on recorded traces of spot capacity, with the recovery times that were measured.

    python -m bench.cost

A simulation (`spotrain.ledger.simulation`) of seconds: the same figures give the same result.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

from bench import kept, page
from bench.cost.compare import OURS, compare, described, sampled
from bench.cost.figures import Figures, read_figures
from spotrain.ledger.trace_formats import read_trace
from spotrain.ledger.traces import Trace

FILES: Final[Mapping[str, str]] = {
    "p3": "bamboo-p3.csv",
    "g4dn": "bamboo-g4dn.csv",
    "A100, Google": "bamboo-gcloud-a100.txt",
    "V100, Google": "bamboo-gcloud-v100.txt",
}


def published(name: str) -> Trace:
    return read_trace((page.ROOT / "bench/traces" / FILES[name]).read_text())


def measure(figures: Figures) -> dict[str, Any]:
    traces = {name: sampled(published(name)) for name in FILES}
    whole = published("p3")
    large = next(row for row in compare({"p3": whole}, figures) if row["who"] == OURS)
    return {
        "figures": asdict(figures),
        "traces": described(traces),
        "rows": compare(traces, figures),
        "large": {"nodes": whole.most, "goodput": large["goodput"]},
    }


def main() -> None:
    kept.keep("cost", measure(read_figures()))


if __name__ == "__main__":
    main()
