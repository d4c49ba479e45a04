"""docs/session.md: what a researcher types from a project's first file to the end of a job, with
what is answered. The commands stand here; the answers are recorded by `make session`."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from textwrap import fill
from typing import Final

from tests.cluster.cluster import REPOSITORY

PAGE: Final = REPOSITORY / "docs" / "session.md"
WRITE: Final = "SPOTRAIN_WRITE_SESSION"
"""Set where the page is to be written, and not to be compared."""
JOB: Final = "spirals"
MOST_ALIKE: Final = 3
ELLIPSIS: Final = "..."


@dataclass(frozen=True)
class Step:
    told: str
    """Before the command, on the page."""
    words: str
    """After `spotrain`."""
    before: str = ""
    """What a shell is asked first."""
    once: str = ""
    """What must hold of the job before it is typed: a key of `test_session.STATES`."""


STEPS: Final = (
    Step("A project to begin with: a script that trains, and how to run it.", f"init {JOB}"),
    Step("What GPUs there are. Nodes come when a job asks for them, so none is there yet.", "gpus"),
    Step(
        "The job: two GPUs, one at least. `--code` sends the folder, so that no image is built. "
        "(The script would be done in seconds; this one trains for as long as the session takes.)",
        f"submit {JOB} --gpus 2 --min-gpus 1 --gpu-type t4 --code . -- train.py",
        before=f"cd {JOB} && sed -i 's/^EPOCHS = .*/EPOCHS = 100000/' train.py",
    ),
    Step("Nodes have come, and it trains.", "list", once="trains"),
    Step("More of one job.", f"status {JOB}"),
    Step("What its workers print.", f"logs {JOB}"),
    Step("Why it is as it is, and what to do next. This one needs nothing.", f"explain {JOB}"),
    Step("One GPU less: a planned change, which loses no step.", f"scale {JOB} --gpus 1"),
    Step("Stop it: it saves, and gives its nodes back.", f"stop {JOB}", once="is-smaller"),
    Step("What it has saved.", f"checkpoints {JOB} --verify", once="has-stopped"),
    Step("Go on, where it was.", f"resume {JOB}"),
    Step("What it costs, and where the time went.", f"cost {JOB} --no-history", once="goes-on"),
    Step("All of it as a page, to look at or to send.", f"report {JOB} --no-history"),
    Step(
        "Remove it. What it wrote stays, and `logs`, `cost` and `report` still know it.",
        f"delete {JOB}",
    ),
)
HEAD: Final = """\
# A session

From nothing to a job's end, in a terminal of 80 columns. This is recorded: `make session` types
these commands as a researcher of a cluster with a real API server, scheduler, controller and
archive, whose nodes are made up (their pods are processes; prices are those of
[k8s/examples/pools.yaml](../k8s/examples/pools.yaml)), and a test holds the page equal to what is
answered, but for numbers. All options: [cli.md](cli.md).
"""


@dataclass(frozen=True)
class Recorded:
    command: str
    answer: str


def page(recorded: Sequence[Recorded]) -> str:
    parts = [HEAD]
    for step, told in zip(STEPS, recorded, strict=True):
        typed = [f"$ {line}" for line in (step.before, told.command) if line]
        answer = [line.rstrip() for line in told.answer.strip("\n").splitlines()]
        block = "\n".join(["```console", *typed, *_abridged(answer), "```"])
        parts.append(f"{fill(step.told, width=100)}\n\n{block}\n")
    return "\n".join(parts)


def _abridged(lines: Iterable[str]) -> Iterable[str]:
    """Of many lines of one shape in a row, as every epoch prints one, the first and the last."""
    for _, alike in groupby(lines, key=_shape):
        run = list(alike)
        yield from run if len(run) <= MOST_ALIKE else (*run[: MOST_ALIKE - 1], ELLIPSIS, run[-1])


def read_page(path: Path = PAGE) -> list[Recorded]:
    """What was recorded last."""
    blocks = re.findall(r"^```console\n(.*?)^```$", path.read_text(), re.MULTILINE | re.DOTALL)
    found = [re.search(r"^\$ (spotrain [^\n]*)\n(.*)", block, re.M | re.S) for block in blocks]
    return [Recorded(command[1], command[2]) for command in found if command]


def shape(recorded: Recorded) -> str:
    """The answer without what differs from one time to the next: numbers and their units, how often
    alike lines come and how long they are, in which order workers speak and of what they warn, and
    to what time was lost."""
    answer = re.sub(r"^lost .*", "lost", recorded.answer, flags=re.MULTILINE | re.DOTALL)
    lines = [_shape(line) for line in answer.splitlines() if line != ELLIPSIS]
    if recorded.command.startswith("spotrain logs"):
        lines = sorted({line for line in lines if "spotrain: " not in line})
    return " ".join(" ".join(line for line, _ in groupby(lines)).split())


def _shape(line: str) -> str:
    line = re.sub(r"[-─━]{3,}", "─", line)
    line = re.sub(r"[-$]*\d[\d.,:%TZ-]*", "#", line)
    return " ".join(re.sub(r"# (s|min|h|d|B|kB|MB)\b", "# unit", line).split())
