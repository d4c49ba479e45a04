"""docs/observability.md: what it says the controller tells, the controller tells."""

import re

from stacks.preview import ROOT
from tests.stack.queries import OURS, our_metrics

PAGE = (ROOT / "docs/observability.md").read_text()
TABLE = PAGE.split("## What the controller tells")[1].split("\n## ")[0]


def test_the_page_lists_the_metrics_that_the_controller_has_and_no_other() -> None:
    listed = {
        name
        for row in TABLE.splitlines()
        if row.startswith("|")
        for name in re.findall(rf"`({OURS}[a-z_]+)", row.split("|")[1])
    }
    told = {re.sub("_(bucket|sum|count)$", "", name) for name in our_metrics()}
    assert listed == told
