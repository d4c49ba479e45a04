"""Checks of GKE's node pools: does each pool have one in each of its zones, and in good order?"""

from collections.abc import Iterator, Sequence

from spotrain import contract
from spotrain.clouds.project import NodePool
from spotrain.doctor.finding import Finding, fail, passed, warn
from spotrain.job import Pool

DEFAULT_NOTICE_SECONDS = 15
"""Of GKE's 30, where a node pool says nothing: the other 15 are for the system's own pods."""
UP = "pulumi up --refresh"


def check_node_pools(found: Sequence[NodePool], pools: Sequence[Pool]) -> Iterator[Finding]:
    for pool in pools:
        for zone in pool.zones:
            check = f"node pool of {pool.name}, {zone}"
            own = next((n for n in found if n.pool == pool.name and zone in n.zones), None)
            if own is None:
                yield fail(check, "the cluster has none: no node comes there.", UP)
            else:
                yield _judge(check, own, pool)


def _judge(check: str, own: NodePool, pool: Pool) -> Finding:
    """The gravest that there is to say of it."""
    most = pool.max_nodes * len(own.zones)
    if own.status == "ERROR":
        return fail(check, f"it is broken ({'; '.join(own.problems) or 'no reason told'}).", UP)
    if own.max_nodes is None:
        return fail(check, "it does not scale by itself: no node comes.", UP)
    given = DEFAULT_NOTICE_SECONDS if own.notice_seconds is None else own.notice_seconds
    is_spot = pool.capacity == contract.CAPACITY_SPOT
    if is_spot and given < pool.notice_seconds:
        said = (
            f"its machines leave pods {given} s when they are taken back, and jobs reckon with "
            f"{pool.notice_seconds}: they are killed while they save."
        )
        return fail(check, said, f"{UP}; shutdown_grace_period_seconds needs GKE 1.35")
    if is_spot and not own.is_spot:
        return warn(check, "its machines are not spot: they cost the full price.", UP)
    if own.problems:
        said = f"it gets no nodes: {'; '.join(own.problems)}."
        return warn(check, said.replace("..", "."), "spotrain gpus shows other places")
    if own.max_nodes != most:
        return warn(check, f"it may have {own.max_nodes} nodes, the pool says {most}.", "pulumi up")
    return passed(check, f"{own.name} may have {own.max_nodes} nodes.")
