"""The part of docs/clouds.md that is made from the code: what each cloud's stacks cost at rest."""

from stacks.bill import HOURS_PER_MONTH
from stacks.clouds import support
from stacks.pages.cost import bill_of
from stacks.pages.parts import Parts, with_parts
from stacks.pages.stacks import settings_of
from stacks.preview import ROOT
from stacks.stack_file import stack_names

FILE = "docs/clouds.md"


def page() -> str:
    return with_parts(FILE, (ROOT / FILE).read_text(), PARTS)


def fixed() -> str:
    """A row for each stack file whose machines somebody rents, and its three dearest lines."""
    rows = [_row(stack) for stack in stack_names() if bill_of(stack).fixed]
    head = (
        "| stack | where | $ a month | $ an hour | most of it |\n| --- | --- | ---: | ---: | --- |"
    )
    return "\n".join([head, *rows, ""])


def _row(stack: str) -> str:
    settings, bill = settings_of(stack), bill_of(stack)
    dearest = sorted(bill.fixed, key=lambda cost: cost.usd_per_month, reverse=True)[:3]
    most = ", ".join(f"{cost.what} {cost.usd_per_month:,.0f}" for cost in dearest)
    total = bill.usd_per_month
    return (
        f"| `{stack}` | {support(settings.cloud).place(settings)} | {total:,.0f} | "
        f"{total / HOURS_PER_MONTH:.2f} | {most} |"
    )


PARTS: Parts = {"fixed": fixed}
