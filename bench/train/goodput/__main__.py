"""Goodput on a published trace of spot capacity: ours and torchrun, against a simulated limit.

    python -m bench.train.goodput [--seconds 600] [--factor 20] [--parts 2] [--peers session stock]

The trace (bench/traces) is scaled to four nodes; its busiest stretch is compressed and played to
each peer, part by part in turns. Takes `seconds` for each peer, and two minutes more.
"""

import argparse
import os
import tempfile
from pathlib import Path
from typing import Any, Final

from bench import kept, page
from bench.machine import begun
from bench.train.goodput import calm
from bench.train.goodput.account import account
from bench.train.goodput.play import play
from bench.train.peers.launchers import ALL
from bench.train.peers.scripts.work import BATCH
from spotrain.ledger.replay import Behaviour, replay
from spotrain.ledger.trace_formats import read_events
from spotrain.ledger.traces import Trace

TRACE: Final = page.ROOT / "bench/traces/bamboo-p3.csv"
NODES_THERE, NODES_HERE = 32, 4
STEP_SECONDS: Final = 0.1


def stretch(seconds: float, factor: float) -> Trace:
    """The busiest part of the trace that takes `seconds` when it is compressed."""
    trace = read_events(TRACE.read_text()).scaled(most=NODES_THERE, to=NODES_HERE)
    length = seconds * factor
    return trace.window(trace.busiest(length), length)


def measure(seconds: float, factor: float, parts: int, peers: list[str]) -> dict[str, Any]:
    found = begun()
    rest = calm.measure(NODES_HERE, step_seconds=STEP_SECONDS)
    print(rest, flush=True)
    trace = stretch(seconds, factor)
    length = trace.seconds / parts
    windows = [trace.window(number * length, length).compressed(factor) for number in range(parts)]
    ideal = Behaviour(pause_seconds=rest.start_seconds, has_notice=True)
    found |= {
        "calm": vars(rest),
        "step_seconds": STEP_SECONDS,
        "trace": {
            "name": TRACE.name,
            "seconds": trace.seconds,
            "factor": factor,
            "drops": trace.drops,
            "counts": [window.counts for window in windows],
        },
        "limit": [replay(window, ideal, rest.speed.__getitem__).goodput for window in windows],
        "played": {name: [] for name in peers},
    }
    for window in windows:
        for name in peers:
            part = one_part(name, window, factor, rest)
            found["played"][name].append(part)
            shown = {cause: round(share, 3) for cause, share in part["lost"].items()}
            print(name, round(part["goodput"], 3), shown, part["restarts"], flush=True)
    return found | {"load_after": os.getloadavg()}


def one_part(name: str, window: Trace, factor: float, rest: calm.Calm) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        played = play(ALL[name], Path(folder), window, factor=factor, step_seconds=STEP_SECONDS)
    judged = account(played, rest.speed, batch=BATCH)
    main = [step for step in played.steps if step.rank == 0]
    return {
        "goodput": judged.fraction,
        "lost": dict(judged.lost),
        "restarts": played.restarts,
        "nodes": played.nodes,
        "seconds": window.seconds,
        "steps": [(round(step.at, 2), step.size, step.step) for step in main],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="that the trace is played")
    parser.add_argument("--factor", type=float, default=20, help="by which it is compressed")
    parser.add_argument("--parts", type=int, default=2, help="played in turns")
    parser.add_argument("--peers", nargs="*", default=["session", "stock"], choices=list(ALL))
    options = parser.parse_args()
    found = measure(options.seconds, options.factor, options.parts, options.peers)
    kept.keep("goodput", found)


if __name__ == "__main__":
    main()
