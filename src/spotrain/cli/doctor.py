"""`spotrain doctor`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from spotrain.cli import output
from spotrain.cli.errors import JOB_FAILED
from spotrain.cli.options import Context, Format, Namespace, Output
from spotrain.cli.wording import count
from spotrain.next_command import next_command

if TYPE_CHECKING:
    from rich.console import RenderableType

    from spotrain.doctor import Finding

TRY_HERE: Final = "spotrain doctor --local looks at this machine, where jobs need no cluster"
STYLES = {"pass": "green", "warn": "yellow", "fail": "bold red"}


def command(
    local: Annotated[
        bool, typer.Option("--local", help="Look at this machine, for jobs that train on it.")
    ] = False,
    context: Context = None,
    namespace: Namespace = None,
    region: Annotated[
        str | None, typer.Option(help="Region of the cloud account; default: the pools' own.")
    ] = None,
    eks_cluster: Annotated[
        str | None,
        typer.Option("--cluster", help="Name of the EKS cluster; default: the kubeconfig's."),
    ] = None,
    project: Annotated[
        str | None,
        typer.Option(help="Project of Google Cloud; default: the kubeconfig's or the nodes' own."),
    ] = None,
    cloud: Annotated[
        bool, typer.Option("--cloud/--no-cloud", help="Ask the cloud account too, or not.")
    ] = True,
    form: Output = Format.table,
) -> None:
    """Check what would keep jobs from running, before money is spent: 1 if something would.

    -o name writes the names of the checks that fail.
    """
    from spotrain.doctor import Verdict

    findings = (
        _here()
        if local
        else _there(context, namespace, cloud, region=region, cluster=eks_cluster, project=project)
    )
    failing = [each.check for each in findings if each.verdict is Verdict.fail]
    output.answer(
        to_document(findings),
        form,
        names=failing,
        table=lambda: tabulate(findings),
    )
    if failing:
        if form is Format.table:
            output.say(conclude(failing, len(findings), local=local))
        raise typer.Exit(JOB_FAILED)


def to_document(findings: Sequence["Finding"]) -> dict[str, Any]:
    from spotrain.doctor import gravest

    return {
        "verdict": str(gravest(findings)),
        "findings": [
            {
                "check": each.check,
                "verdict": str(each.verdict),
                "message": each.said,
                "fix": each.fix,
            }
            for each in findings
        ],
    }


def conclude(failing: Sequence[str], checks: int, *, local: bool) -> str:
    """`failing`: checks of those that were made."""
    again = next_command("doctor", local=local)
    return (
        f"{len(failing)} of {count(checks, 'check')} failed: {', '.join(failing)}. Next: do what "
        f"stands below each, then {again}"
    )


def tabulate(findings: Sequence["Finding"]) -> "RenderableType":
    """What was found on the first line of each check, and below it what to do."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("", no_wrap=True)
    table.add_column("check", overflow="fold", max_width=24)
    table.add_column("found", overflow="fold")
    for each in findings:
        found = Text(each.said)
        if each.fix:
            found.append(f"\nNext: {each.fix}", style="bold")
        table.add_row(Text(each.verdict, style=STYLES[each.verdict]), Text(each.check), found)
    return table


def _here() -> list["Finding"]:
    from spotrain.cli.machine import look_at_machine
    from spotrain.doctor.laptop import check_laptop

    return list(check_laptop(look_at_machine()))


def _there(
    context: str | None,
    namespace: str | None,
    cloud: bool,
    *,
    region: str | None,
    cluster: str | None,
    project: str | None,
) -> list["Finding"]:
    """The cluster first: it says which pools there are, and so what to ask of the cloud."""
    from spotrain.cli.cloud_account import ask_cloud, find_whereabouts
    from spotrain.cli.cluster import connected
    from spotrain.cli.errors import UserError
    from spotrain.cli.preflight import Preflight
    from spotrain.doctor.finding import fail

    where = find_whereabouts(context).overridden(region=region, cluster=cluster, project=project)
    try:
        with connected(context, namespace) as connection:
            preflight = Preflight(connection)
            findings = list(preflight.check())
    except UserError as error:
        return [fail("cluster", error.message, TRY_HERE)]
    if cloud:
        findings += ask_cloud(
            preflight.pools,
            images=preflight.images,
            where=where,
            provider_ids=preflight.provider_ids,
            managers=preflight.managers,
        )
    return findings
