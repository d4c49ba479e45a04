"""What an agent tells of its ranks when their world does no step any more."""

import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from spotrain.agent.inspection import Finding, inspect
from spotrain.agent.stacks import outline
from spotrain.coordinator import protocol

logger = logging.getLogger(__name__)

MAX_LOGGED: Final = 16_000
"""Characters of one rank's stacks in the agent's log."""
MAX_SENT: Final = 24_000
"""Characters of all ranks' stacks in a message of 64 KiB: as JSON some characters count twice."""
MAX_SENT_OF_RANK: Final = 4_000


def tell_where_ranks_are(
    folder: Path, count: int, *, world: int, send: Callable[[protocol.FromAgent], bool]
) -> None:
    """Look at the ranks, log their stacks and send them up; returns at once.

    It takes a second or two, and a loss or a notice that comes meanwhile is not to wait for it.
    """

    def look() -> None:
        with ThreadPoolExecutor(count) as pool:
            findings = list(pool.map(lambda local_rank: inspect(folder, local_rank), range(count)))
        for finding in findings:
            stacks = outline(finding.dump, MAX_LOGGED)
            logger.error("local rank %d hangs or waits: %s", finding.local_rank, finding.place)
            if stacks:
                logger.error("its stacks:\n%s", stacks)
        send(report(findings, world))

    threading.Thread(target=look, name="inspection", daemon=True).start()


def report(findings: Sequence[Finding], world: int) -> protocol.Inspected:
    most = min(MAX_SENT_OF_RANK, MAX_SENT // max(1, len(findings)))
    return protocol.Inspected(
        world=world, ranks=tuple(_state(finding, world, most) for finding in findings)
    )


def _state(finding: Finding, world: int, most: int) -> protocol.RankState:
    mark = finding.mark if finding.mark is not None and finding.mark.world == world else None
    return protocol.RankState(
        local_rank=finding.local_rank,
        step=mark.step if mark is not None else None,
        batches=mark.batches if mark is not None else 0,
        place=finding.place[:500],
        stacks=outline(finding.dump, most),
    )
