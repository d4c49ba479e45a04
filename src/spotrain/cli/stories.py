"""What a report tells: gathered from the archive, the job's document and its checkpoints."""

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Final

from spotrain.archive.errors import ArchiveError, NotFound
from spotrain.archive.records import CheckpointRecord
from spotrain.checkpoints.store import is_in_bucket
from spotrain.cli.checkpoint_keepers import BucketKeeper
from spotrain.cli.costs import Archive, Tariff, cost_of_job
from spotrain.cli.errors import UserError
from spotrain.cli.job_output import checkpoints_below, output_of
from spotrain.cli.job_text import gpus_each
from spotrain.cli.job_view import JobView, view
from spotrain.cli.report_page.story import Story
from spotrain.cli.wording import dollars
from spotrain.job import worker_container
from spotrain.kinds import Object
from spotrain.ledger.entries import GapEntry, MetricsEntry

ListCheckpoints = Callable[[str], Sequence[CheckpointRecord]]
"""An output folder, as the job names it -> its checkpoints, newest first."""
_DIGEST: Final = re.compile(r"(@sha256:[0-9a-f]{12})[0-9a-f]{52}")


def gather(
    archive: Archive,
    tariff: Tariff,
    name: str,
    *,
    document: Object | None,
    list_checkpoints: ListCheckpoints,
    now: datetime,
) -> Story:
    """`document`: None where the job's object is gone. Raises whatever the archive does, but for
    its checkpoints, of which the story then says that they are not known."""
    uid = str(document["metadata"]["uid"]) if document else ""
    found = cost_of_job(archive, tariff, name, uid=uid, now=now)
    (judged,) = found.jobs
    entries = judged.ledger.entries
    checkpoints, problem = _checkpoints(list_checkpoints, output_of(document, name))
    seen = view(document, local=not tariff.counts_gpus) if document else None
    return Story(
        job=judged.job,
        present_state=seen.state.lower() if seen else "",
        record=judged.record,
        cost=judged.cost,
        made_at=now,
        facts=dict(_facts(seen)) if seen else {},
        gaps=[entry for entry in entries if isinstance(entry, GapEntry)],
        metrics=[entry for entry in entries if isinstance(entry, MetricsEntry)],
        checkpoints=checkpoints,
        remarks=[*found.notes, *([problem] if problem else [])],
    )


def _checkpoints(
    list_checkpoints: ListCheckpoints, output: str
) -> tuple[Sequence[CheckpointRecord], str]:
    """And why they are not known."""
    place = checkpoints_below(output)
    look = BucketKeeper().checkpoints if is_in_bucket(place) else list_checkpoints
    try:
        return look(place), ""
    except NotFound:
        return [], ""  # it has saved none
    except (ArchiveError, OSError, UserError) as error:
        return [], f"Checkpoints are not known: {error}"


def _facts(seen: JobView) -> Iterator[tuple[str, str]]:
    job = seen.job
    if job is None:
        return
    limits = (
        ""
        if job.min_replicas == job.max_replicas == job.replicas
        else (f", between {job.min_replicas} and {job.max_replicas}")
    )
    yield "workers", f"{job.replicas}{limits}"
    if job.gpus_per_worker:
        yield "GPU", gpus_each(seen)
    container = job.template["spec"]["containers"][worker_container(job.template)]
    yield "image", _DIGEST.sub(r"\1", str(container.get("image", "")))
    words = [*(container.get("command") or []), *(container.get("args") or [])]
    if words:
        yield "runs", " ".join(map(str, words))
    if job.budget.max_dollars:
        yield "budget", dollars(job.budget.max_dollars)
