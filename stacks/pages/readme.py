"""The parts of README.md that are made from the code: what it costs, what a preview shows, and some
of the recorded session.

All else of that page is written by hand.
"""

import re
from io import StringIO

from rich.console import Console

from stacks import preview_view
from stacks.aws.schema import AwsSettings
from stacks.bill import PoolPrice
from stacks.gcp.schema import GcpSettings
from stacks.pages.cost import CLOUDS, bill_of
from stacks.pages.parts import Parts, with_parts
from stacks.pages.stacks import QUARRIES, recording_of, settings_of, stacks_on
from stacks.preview import ROOT

SHOWN = "dev"
FIRST_LINES = 12
"""Of the tree of resources; its rest is left out."""
WIDTH = 80
SHOWN_VERBS = ("init", "submit", "list", "status", "logs", "explain", "cost")
"""Of the session, from nothing to what it cost; the rest is on its own page."""


def page() -> str:
    return with_parts("README.md", (ROOT / "README.md").read_text(), PARTS)


def costs() -> str:
    """A row for each stack file of a cloud that bills."""
    shipped = [stack for cloud in CLOUDS for stack in stacks_on(cloud) if stack not in QUARRIES]
    rows = [_row(stack) for stack in shipped]
    head = "| | fixed, while nobody trains | one GPU hour, spot / on demand |\n| --- | --- | --- |"
    return "\n".join([head, *rows, ""])


def _row(stack: str) -> str:
    settings, bill = settings_of(stack), bill_of(stack)
    assert isinstance(settings, AwsSettings | GcpSettings)
    spot = [pool for pool in bill.pools if pool.is_spot]
    models = ", ".join(pool.gpu.upper() for pool in spot)
    metrics = ", metrics" if settings.observability.metrics else ""
    hours = ", ".join(map(_hour, spot))
    return (
        f"| `{stack}`, {CLOUDS[settings.cloud]}: {len(settings.zones)} zones, {models}{metrics} "
        f"| ${bill.usd_per_month:,.0f} a month | {hours} |"
    )


def _hour(pool: PoolPrice) -> str:
    spot, demand = (
        usd / pool.gpus_per_node for usd in (pool.spot_usd_per_hour, pool.on_demand_usd_per_hour)
    )
    return f"{pool.gpu.upper()}: ${spot:.3f} / ${demand:.3f}"


def shortened_preview() -> str:
    """What `make preview` prints, less most of its tree."""
    answer = StringIO()
    console = Console(file=answer, width=WIDTH, highlight=False, emoji=False)
    preview_view.show(console, SHOWN, settings_of(SHOWN), recording_of(SHOWN))
    lines = [line.rstrip() for line in answer.getvalue().splitlines()]
    first = next(number for number, line in enumerate(lines) if line.startswith(f"{SHOWN}: "))
    money = next(number for number, line in enumerate(lines) if line.startswith("Fixed cost"))
    kept = [*lines[first : first + FIRST_LINES], "...", *lines[money:]]
    return "\n".join(["```console", f"$ make preview STACK={SHOWN}", *kept, "```", ""])


def shortened_session() -> str:
    """Some of the commands of docs/session.md, with their answers as they stand there."""
    page = (ROOT / "docs" / "session.md").read_text()
    blocks = re.findall(r"^```console\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    asked = [block[block.rindex("$ spotrain ") :] for block in blocks]
    kept = [block.rstrip("\n") for block in asked if block.split()[2] in SHOWN_VERBS]
    return "\n".join(["```console", "\n\n".join(kept), "```", ""])


PARTS: Parts = {
    "costs": costs,
    "preview": shortened_preview,
    "session": shortened_session,
}
