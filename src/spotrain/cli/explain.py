"""`spotrain explain`."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from spotrain.cli import output
from spotrain.cli.fitted import Paragraphs
from spotrain.cli.options import Context, Format, JobName, Local, Namespace, Output

if TYPE_CHECKING:
    from rich.console import RenderableType

    from spotrain.explain import Explanation


def command(
    name: JobName,
    context: Context = None,
    namespace: Namespace = None,
    local: Local = False,
    form: Output = Format.table,
) -> None:
    """Why a job waits, crashes or has stopped, and what to do about it."""
    found = _here(name) if local else _in_cluster(context, namespace, name)
    output.answer(
        to_document(found),
        form,
        names=[cause.reason for cause in found.causes],
        table=lambda: write(found),
    )
    if form is Format.table:
        # As it is, however long: it is copied from there, and whatever draws lines cuts them off.
        print(f"\nNext: {found.next_command}")


def _in_cluster(context: str | None, namespace: str | None, name: str) -> "Explanation":
    from spotrain.cli.cluster import connected
    from spotrain.cli.evidence import gather
    from spotrain.explain import explain

    with connected(context, namespace) as cluster:
        return explain(gather(cluster, name, now=datetime.now(UTC)))


def _here(name: str) -> "Explanation":
    from spotrain.cli.local_evidence import gather_local, here
    from spotrain.cli.local_jobs import own_shelf
    from spotrain.explain import explain

    return here(explain(gather_local(own_shelf(), name, now=datetime.now(UTC))))


def to_document(found: "Explanation") -> dict[str, Any]:
    causes = [
        {
            "reason": cause.reason,
            "gravity": cause.gravity.name.lower(),
            "message": cause.said,
            "next": cause.command,
        }
        for cause in found.causes
    ]
    return {
        "job": found.job,
        "explanation": found.paragraph,
        "next": found.next_command,
        "causes": causes,
        "unseen": found.unseen,
    }


def write(found: "Explanation") -> "RenderableType":
    return Paragraphs(found.paragraph)
