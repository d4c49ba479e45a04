"""Sending the jobs of a sweep one by one."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Final

from spotrain.cli import output
from spotrain.cli.errors import CONFLICT, UserError
from spotrain.cli.interrupts import told
from spotrain.cli.job_rows import INTERRUPTED
from spotrain.cli.job_view import view
from spotrain.cli.jobs import Jobs
from spotrain.cli.local_jobs import LocalJobs, kept
from spotrain.cli.options import Format
from spotrain.cli.overrides import Values
from spotrain.cli.sweep_changes import change_all, limit_to
from spotrain.cli.sweep_jobs import Member, describe, members, unsent
from spotrain.cli.sweep_template import Template
from spotrain.cli.sweeping import Progress, goes_on, limit_of, of_sweep
from spotrain.cli.wording import count
from spotrain.kinds import Object
from spotrain.local.sweep_halt import Halted, Halts
from spotrain.next_command import next_command

LOOK_SECONDS: Final = 0.5


def send_sweep(
    template: Template,
    combinations: Iterable[Values],
    *,
    at_most: int | None,
    dry_run: bool,
    local: bool,
    form: Format,
) -> None:
    """Send what is not there yet, and tell of all. `at_most`: None is what it was.

    Raises:
        UserError: the first that went wrong, or Ctrl-C; it says how far it came.
    """
    there = list(template.jobs.list())
    if at_most is None:
        at_most = 1 if local else limit_of(template.sweep, there)  # it is one machine
    planned = members(
        template.sweep, combinations, template.job, at_most=at_most, code=template.code
    )
    if dry_run:
        _tell_documents([each.document for each in planned], planned, form)
        return
    missing = unsent(planned, there)
    template.send_code()
    is_table = form is Format.table
    tell: Callable[[str], None] = partial(print, flush=True) if is_table else output.say
    sending = Sending(
        template.sweep, template.jobs, at_most, local, tell, halts_of(template.sweep, template.jobs)
    )
    made = sending.send(planned, missing, there)
    with told(goes_on(template.sweep, local=local)):
        tell(_summary(sending, len(missing), len(planned)))
        if not is_table:
            _tell_documents(made, planned, form)


def _tell_documents(documents: Sequence[Object], planned: Sequence[Member], form: Format) -> None:
    """Documents are no table: people get one YAML after the other, as kubectl takes them."""
    if form is Format.table:
        import yaml

        print(yaml.safe_dump_all(documents, sort_keys=False), end="")
        return
    output.answer(documents, form, names=[each.name for each in planned], table=lambda: "")


def _summary(sending: "Sending", sent: int, wanted: int) -> str:
    before = f", {wanted - sent} were there already" if wanted > sent else ""
    limit = f", at most {sending.at_most} at once" if sending.at_most else ""
    show = next_command("sweep", sending.sweep, local=sending.local)
    return f"sent {count(sent, 'job')} of {wanted}{before}{limit}. Next: {show}"


def halt(sweep: str, jobs: Jobs) -> None:
    """Whoever sends jobs of the sweep one after the other ends. Raises UserError."""
    if isinstance(jobs, LocalJobs):
        with kept(jobs.shelf):
            Halts(jobs.shelf.root, sweep).tell()


def halts_of(sweep: str, jobs: Jobs) -> Halts | None:
    """None in a cluster. Raises UserError."""
    if not isinstance(jobs, LocalJobs):
        return None
    with kept(jobs.shelf):
        return Halts(jobs.shelf.root, sweep)


@dataclass(frozen=True)
class Sending:
    """The jobs of a sweep on their way."""

    sweep: str
    jobs: Jobs
    at_most: int | None
    local: bool
    tell: Callable[[str], None]
    halts: Halts | None = None
    """Where the command sends each job in its turn, which would start what another has stopped."""

    def send(
        self, planned: Sequence[Member], missing: Sequence[Member], there: Sequence[Object]
    ) -> list[Object]:
        """Those that are missing; returns all that are planned, as they are now.

        A controller keeps the others waiting until their turn comes; on this machine there is none
        of all jobs, so a job is sent when its turn has come.

        Raises:
            UserError: the first that went wrong, or Ctrl-C; it says how far it came.
        """
        progress = Progress(lambda sent: self._told(sent, len(missing)))
        with self._unless_halted(progress, len(missing)), progress.told():
            if not self.local:
                self._limit(there)
            for member in missing:
                self._send_one(member, progress)
            names = {member.name for member in planned}
            return [each for each in self.jobs.list() if each["metadata"]["name"] in names]

    def _told(self, sent: int, wanted: int) -> str:
        remove = next_command("sweep", self.sweep, "--delete", local=self.local)
        return (
            f"{sent} of {count(wanted, 'job')} of sweep {self.sweep} were sent and go on. "
            f"Next: the same command sends the rest, {remove} removes what is there."
        )

    def _send_one(self, member: Member, progress: Progress) -> None:
        while self.local and self._is_full():
            time.sleep(LOOK_SECONDS)
            if self.halts:
                self.halts.check()
        with progress.step(f"{member.name} is being sent"):
            with self.halts.waited_for() if self.halts else nullcontext():
                self.jobs.create(member.document)
            progress.done += 1
            self.tell(f"submitted {member.name}: {describe(member.values)}")

    @contextmanager
    def _unless_halted(self, progress: Progress, wanted: int) -> Iterator[None]:
        try:
            yield
        except Halted:
            raise UserError(
                f"another command has stopped or removed sweep {self.sweep} after {progress.done} "
                f"of {count(wanted, 'job')} were sent, and no more is. Next: the same command "
                "sends the rest.",
                exit_code=CONFLICT,
            ) from None

    def _is_full(self) -> bool:
        running = [
            seen
            for seen in map(view, of_sweep(self.sweep, self.jobs.list()))
            if not seen.status.finished
            and seen.state != INTERRUPTED
            and not (seen.job and seen.job.suspend)
        ]
        return self.at_most is not None and len(running) >= self.at_most

    def _limit(self, there: Sequence[Object]) -> None:
        """What was sent earlier, under another limit, keeps to this one."""
        if self.at_most is None:
            return
        seen = ((each, view(each).job) for each in of_sweep(self.sweep, there))
        others = [each for each, job in seen if job and job.sweep.at_most != self.at_most]
        change_all(limit_to(self.at_most), self.sweep, others, self.jobs)
