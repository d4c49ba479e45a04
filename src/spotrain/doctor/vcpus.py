"""Checks of EC2's quotas, which count vCPUs: may the pools have the nodes that they want?"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from spotrain import contract
from spotrain.clouds.account import Quota
from spotrain.doctor.finding import Finding, passed, warn
from spotrain.doctor.quota_verdict import judge
from spotrain.job import Pool
from spotrain.quotas.aws import find_quota, managers_while_updated, raise_quota
from spotrain.quotas.draws import Draw, most


def managers_of(nodes: Sequence[Mapping[str, Any]]) -> Mapping[str, int]:
    """Instance type -> managers that there are. Empty where nobody rents them by type."""
    labels = [node["metadata"].get("labels") or {} for node in nodes]
    return Counter(
        each[contract.LABEL_INSTANCE_TYPE]
        for each in labels
        if each.get(contract.LABEL_ROLE) == contract.ROLE_MANAGER
        and each.get(contract.LABEL_INSTANCE_TYPE)
    )


def check_managers(
    quotas: Sequence[Quota],
    vcpus: Mapping[str, int],
    managers: Mapping[str, int],
    *,
    region: str,
) -> Iterator[Finding]:
    """Their on-demand quota counts what runs; an update of them needs more for a while, of which
    EKS picks the type: it is reckoned with the largest."""
    drawing: dict[Quota, list[str]] = defaultdict(list)
    for instance_type in managers:
        quota = find_quota(quotas, contract.CAPACITY_ON_DEMAND, instance_type)
        if quota is not None and instance_type in vcpus:
            drawing[quota].append(instance_type)
    for quota, types in drawing.items():
        nodes = sum(managers[each] for each in types)
        have = sum(managers[each] * vcpus[each] for each in types)
        more = managers_while_updated(nodes) - nodes
        needed = have + more * max(vcpus[each] for each in types)
        check = "quota of the managers"
        said = (
            f"{quota.value:.0f} vCPUs of {quota.name}; {nodes} managers of type "
            f"{', '.join(types)} have {have}, and up to {needed} while they are updated."
        )
        if quota.value < needed:
            yield warn(check, said, raise_quota(quota.code, needed, region))
        else:
            yield passed(check, said)


def check_quotas(
    quotas: Sequence[Quota], vcpus: Mapping[str, int], pools: Sequence[Pool], *, region: str
) -> Iterator[Finding]:
    """One finding for each quota that the pools draw on, against the most that they may have."""
    wanted: dict[Quota, list[Pool]] = defaultdict(list)
    for pool in pools:
        quota = find_quota(quotas, pool.capacity, pool.instance_types[0])
        if quota is None:
            check = f"quota of {pool.name}"
            said = f"AWS names no {pool.capacity} quota for {pool.instance_types[0]}."
            yield warn(check, said, "look for it in the Service Quotas console")
        else:
            wanted[quota].append(pool)
    for quota, drawing in wanted.items():
        yield _judge(quota, drawing, vcpus, region=region)


def _judge(
    quota: Quota, pools: Sequence[Pool], vcpus: Mapping[str, int], *, region: str
) -> Finding:
    """A group may get any of its types: the most is reckoned with the largest, the least with the
    smallest."""
    sizes = {pool.name: _sizes(pool, vcpus) for pool in pools}
    check = f"quota {quota.name}"
    if not all(sizes.values()):
        unknown = ", ".join(name for name, known in sizes.items() if not known)
        return warn(check, f"not judged: EC2 does not know the types of {unknown}.", "correct them")
    draws = [
        Draw(
            name=pool.name,
            smallest=min(sizes[pool.name]),
            largest=max(sizes[pool.name]),
            nodes=pool.max_nodes * len(pool.zones),
        )
        for pool in pools
    ]
    fix = raise_quota(quota.code, most(draws), region)
    return judge(check, quota.value, draws, has=f"{quota.value:.0f} vCPUs", fix=fix)


def _sizes(pool: Pool, vcpus: Mapping[str, int]) -> list[int]:
    return [vcpus[each] for each in pool.instance_types if each in vcpus]
