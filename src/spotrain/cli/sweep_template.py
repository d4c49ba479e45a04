"""What a sweep is made of: the values to try, and the job for them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from spotrain import contract
from spotrain.cli import overrides
from spotrain.cli.destination import in_cluster, on_this_machine
from spotrain.cli.errors import UserError
from spotrain.cli.job_file import read_job_file
from spotrain.cli.jobs import Jobs
from spotrain.cli.order import Order, prepared
from spotrain.cli.overrides import Values
from spotrain.cli.script import refuse_missing_in_document
from spotrain.cli.submission import refuse_unusable
from spotrain.cli.sweep_acts import Words
from spotrain.cli.sweep_jobs import fill, fill_job, with_own_output
from spotrain.kinds import Object


def read_combinations(words: Words, list_file: Path | None, *, most: int) -> list[Values]:
    """All combinations of what was typed, for each line of the list if there is one.

    Raises:
        UserError: there is nothing to try, or it is too much.
    """
    lines = overrides.read_list(list_file) if list_file else [[]]
    found: list[Values] = []
    for line in lines:
        axes = overrides.read_axes([*line, *words.tries], most=most)
        found += overrides.combine(axes, most=most) if axes else []
        overrides.check_size(len(found), most)
    if not found:
        raise UserError(f"nothing to try: add KEY=VALUES, such as {overrides.EXAMPLE}.")
    return overrides.distinct(found)


@dataclass(frozen=True)
class Template:
    """One job with holes, and where its copies go."""

    sweep: str
    jobs: Jobs
    job: Callable[[str, Values], Object]
    """The job of a name and its values; raises UserError where no such job can be."""
    send_code: Callable[[], None]
    code: str = ""
    """Digest of what is sent along; empty: what runs lies in the image, or on this machine."""


@contextmanager
def opened_template(
    words: Words, order: Order, *, context: str | None, namespace: str | None, local: bool
) -> Iterator[Template]:
    """`order` is what the options say of a script; a file says that itself. Raises UserError."""
    if words.is_file:
        machine = on_this_machine(None, Path()) if local else in_cluster(context, namespace)
        document = read_job_file(Path(words.what))
        refuse_unusable(document)
        with machine as target:
            _settle(document, namespace=target.namespace, researcher=target.researcher)

            def job(name: str, values: Values) -> Object:
                filled = fill_job(document, name, values)
                if local:
                    refuse_missing_in_document(filled, Path(), "where this is typed")
                return filled

            yield Template(
                sweep=document["metadata"]["name"],
                jobs=target.jobs,
                job=job,
                send_code=lambda: None,
            )
        return
    with prepared(order, context=context, namespace=namespace, local=local) as ready:

        def job(name: str, values: Values) -> Object:
            asked = ready.job(name, fill(words.script, values, name))
            return with_own_output(asked, words.what, name)

        yield Template(
            sweep=words.what,
            jobs=ready.target.jobs,
            job=job,
            send_code=ready.send_code,
            code=ready.packed.sha256 if ready.packed else "",
        )


def _settle(document: Object, *, namespace: str, researcher: str) -> None:
    metadata = document["metadata"]
    metadata["namespace"] = namespace
    labels = metadata.get("labels") or {}
    metadata["labels"] = {contract.LABEL_RESEARCHER: researcher, **labels}
