"""How many jobs of one sweep hold nodes at once.

The same rules as for GPUs (`share`), with a job as the unit: whoever holds nodes keeps them, of
those that wait the more important, the interrupted, the older one goes first, and nobody takes what
another has not let go yet.
"""

from dataclasses import replace
from typing import Final

from spotrain.controller.board import Board, Claim
from spotrain.controller.offers import Obstacle
from spotrain.controller.share import UNLIMITED, Share, share
from spotrain.job import ElasticJob

SWEEP_LIMIT: Final = "SweepLimit"


def turn(job: ElasticJob, mine: Claim, board: Board) -> Share:
    """The job's share of what its sweep may have running: all that it wants, or nothing."""
    most = job.sweep.at_most
    if most is None or not mine.sweep or not mine.least:
        return UNLIMITED
    siblings = [_whole(claim) for claim in board.claims if claim.sweep == mine.sweep]
    found = share(_whole(mine), siblings, most)
    return UNLIMITED if found.limit >= 1 else found


def out_of_turn(job: ElasticJob, mine: Claim, found: Share) -> Obstacle | None:
    """Why the job must wait for others of its sweep, if its turn has not come."""
    if not found.is_in_line:
        return None
    name = mine.sweep.partition("/")[2]
    return Obstacle(
        SWEEP_LIMIT,
        f"sweep {name!r} lets {job.sweep.at_most} of its jobs hold nodes at once "
        "(spec.sweep.atMost), and others go before this one; it starts when they have ended.",
    )


def _whole(claim: Claim) -> Claim:
    """The job as one piece, which holds something or nothing."""
    holds = int(claim.held > 0)
    needs = int(claim.least > 0)
    return replace(
        claim, gpus_per_worker=1, least=needs, housed=holds, held=holds, wanted=needs, starved=False
    )
