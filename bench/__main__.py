"""All benchmarks, one after another: `make bench`, or some: `make bench ONLY="loss notice"`.

    python -m bench [NAME ...] [-- OPTIONS OF THE ONE THAT IS NAMED]

Each writes its raw data to bench/results and its part of docs/performance.md by itself; one that
fails does not stop the others.
"""

import subprocess
import sys
import time
from collections.abc import Sequence

from bench.parts import Part, UnknownPart, chosen
from bench.tools import environment_for


def run(part: Part, options: Sequence[str]) -> str:
    """What came of it, in a few words."""
    print(f"=== {part.name}: {part.about} (about {part.minutes} minutes)", flush=True)
    environment, lacks = environment_for(part)
    if lacks:
        return f"skipped: {lacks}"
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-m", part.module, *options], env=environment)
    minutes = (time.monotonic() - began) / 60
    outcome = "done" if done.returncode == 0 else f"FAILED with code {done.returncode}"
    return f"{outcome} after {minutes:.0f} minutes"


def main(arguments: list[str]) -> int:
    names, options = arguments, []
    if "--" in arguments:
        cut = arguments.index("--")
        names, options = arguments[:cut], arguments[cut + 1 :]
    try:
        parts = chosen(names)
    except UnknownPart as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    if options and len(parts) != 1:
        print("bench: options go to one benchmark: name it, as in ONLY=loss", file=sys.stderr)
        return 2
    outcomes = {part.name: run(part, options) for part in parts}
    print("=== all")
    for name, outcome in outcomes.items():
        print(f"{name:12} {outcome}")
    return int(any(outcome.startswith("FAILED") for outcome in outcomes.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
