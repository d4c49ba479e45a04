"""`spotrain board`."""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Final

import typer

from spotrain.archive.errors import NotFound
from spotrain.cli import event_sources, wording
from spotrain.cli.errors import UserError
from spotrain.cli.event_mirror import EventMirror
from spotrain.cli.interrupts import ends_tidily, told
from spotrain.cli.job_output import output_of
from spotrain.cli.jobs import Jobs
from spotrain.cli.metric_curves import MetricCurves
from spotrain.cli.options import Context, Local, Namespace, complete_job
from spotrain.cli.output import say
from spotrain.cli.refusals import NotThere
from spotrain.cli.submission import output_folder
from spotrain.cli.sweeping import existing
from spotrain.cli.tensorboard import TensorBoard, running

UPDATE_SECONDS: Final = 10.0


@dataclass(frozen=True)
class Shown:
    """What a board shows of some jobs, and where it comes from."""

    outputs: Mapping[str, str]
    """Job -> its output folder."""
    open_source: event_sources.Opener
    mirror: EventMirror
    curves: MetricCurves

    def update(self) -> set[str]:
        """Fetch what is new; returns the jobs that have left anything.

        Raises UserError; what cannot be written of one job keeps no other from being fetched.
        """
        found, failed = set(), ""
        with self.open_source() as source_of:
            for name, output in self.outputs.items():
                try:
                    if self._update_job(source_of(name), name, output):
                        found.add(name)
                except OSError as error:
                    failed = (
                        failed or f"what {name} wrote cannot be copied to this machine: {error}."
                    )
        if failed:
            raise UserError(failed)
        return found

    def _update_job(self, source: event_sources.EventSource, name: str, output: str) -> bool:
        """Whether it has left anything."""
        is_there = self.mirror.update(source, name, output)
        with contextlib.suppress(NotFound):
            self.curves.update(name, source.ledger(name).entries)
            is_there = True
        return is_there

    @property
    def wording(self) -> str:
        """digits, exp1 (2 event files, metrics of 1 job)."""
        files, told = self.mirror.count, self.curves.count
        parts = [wording.count(files, "event file")] if files else []
        parts += [f"metrics of {wording.count(told, 'job')}"] if told else []
        return f"{', '.join(self.outputs)} ({', '.join(parts) or 'nothing written yet'})"


def command(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME...", help="Names of jobs.", autocompletion=complete_job),
    ] = None,
    sweep: Annotated[
        str | None, typer.Option(metavar="NAME", help="All jobs of this sweep.")
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Of this machine; 0: one that is free.")
    ] = 0,
    context: Context = None,
    namespace: Namespace = None,
    local: Local = False,
) -> None:
    """TensorBoard over what jobs have written under output/, until Ctrl-C.

    It runs on this machine, on loopback, and shows event files and the metrics that scripts told.
    Both come through the archive's forwarded port, what is new every ten seconds; the copies go
    when it ends.
    """
    if find_spec("tensorboard") is None:
        raise UserError(
            "TensorBoard is not installed here; add it: pip install 'spotrain[tensorboard]'."
        )
    with (
        told("the board is closed; jobs and what they wrote stay."),
        ends_tidily(),
        event_sources.opened(context=context, namespace=namespace, local=local) as (jobs, open_),
        TemporaryDirectory(prefix="spotrain-board-") as folder,
    ):
        found, unknown = outputs_of(jobs, names or (), sweep, local=local)
        runs = Path(folder) / "runs"
        runs.mkdir()
        shown = Shown(found, open_, EventMirror(runs), MetricCurves(runs))
        there = shown.update()
        for name, error in unknown.items():
            if name not in there:
                raise error
        with running(runs, Path(folder) / "log", port) as board:
            print(f"{board.address} shows {shown.wording} until Ctrl-C.", flush=True)
            _keep_up(board, shown)


def outputs_of(
    jobs: Jobs, names: Sequence[str], sweep: str | None, *, local: bool
) -> tuple[dict[str, str], dict[str, NotThere]]:
    """Job -> its output folder; and of those that are not there (deleted, or never made) why.

    Raises:
        UserError: nothing is named, or no such sweep.
    """
    documents = existing(sweep, jobs, local=local) if sweep else []
    found = {each["metadata"]["name"]: each for each in documents}
    outputs = {name: output_of(document, name) for name, document in found.items()}
    unknown: dict[str, NotThere] = {}
    for name in names:
        try:
            outputs[name] = output_of(jobs.get(name), name)
        except NotThere as error:
            unknown[name] = error
            outputs[name] = output_folder(name)  # what it wrote may have stayed
    if not outputs:
        raise UserError("whose curves? Name jobs, or a sweep by --sweep.")
    return outputs, unknown


def _keep_up(board: TensorBoard, shown: Shown) -> None:
    """Until TensorBoard ends by itself, which it should not. What cannot be fetched now may be
    there the next time, and is told once."""
    problem = ""
    while not board.has_ended_within(UPDATE_SECONDS):
        try:
            shown.update()
            problem = ""
        except UserError as error:
            if error.message != problem:
                say(f"What is new is not shown: {error.message}")
            problem = error.message
    raise board.failure()
