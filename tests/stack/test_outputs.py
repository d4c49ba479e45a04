"""Every output of a stack is documented, and every documented output exists."""

import re

from stacks.pages.stacks import QUARRIES, recording_of
from stacks.preview import ROOT
from stacks.stack_file import stack_names

OPERATIONS = (ROOT / "docs" / "operations.md").read_text()


def documented() -> set[str]:
    """The first column of the table."""
    section = OPERATIONS.split("\n## Outputs\n")[1].split("\n## ")[0]
    return set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))


def test_the_table_of_outputs_is_what_stacks_have() -> None:
    """The quarries have every option switched on."""
    exported: set[str] = set()
    for stack in (*stack_names(), *QUARRIES):
        exported |= recording_of(stack).outputs.keys()
    assert documented() == exported


def test_every_output_that_a_page_uses_exists() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    used = {
        name
        for page in pages
        for name in re.findall(r"pulumi stack output (?:--\S+ )*(\w+)", page.read_text())
    }
    assert used
    assert used <= documented()
