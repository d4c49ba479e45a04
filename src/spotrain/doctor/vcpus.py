"""Checks of EC2's quotas, which count vCPUs: may the pools have the nodes that they want?"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from spotrain import contract
from spotrain.clouds.account import Quota
from spotrain.doctor.finding import Finding, fail, passed, warn
from spotrain.job import Pool

NAMES: Final = {
    contract.CAPACITY_SPOT: re.compile(r"All (?P<families>.+) Spot Instance Requests"),
    contract.CAPACITY_ON_DEMAND: re.compile(r"Running On-Demand (?P<families>.+) instances"),
}
"""How the quotas that count vCPUs are called: `All G and VT Spot Instance Requests`."""


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
    """Their on-demand quota counts what runs; an update of them needs one more for a while."""
    for instance_type, nodes in managers.items():
        quota = find_quota(quotas, contract.CAPACITY_ON_DEMAND, instance_type)
        if quota is None or instance_type not in vcpus:
            continue
        each, check = vcpus[instance_type], "quota of the managers"
        needed = (nodes + 1) * each
        said = (
            f"{quota.value:.0f} vCPUs of {quota.name}; {nodes} managers of type {instance_type} "
            f"have {nodes * each}, and {needed} while they are updated."
        )
        if quota.value < needed:
            yield warn(check, said, _raise(quota, needed, region))
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


def find_quota(quotas: Sequence[Quota], capacity: str, instance_type: str) -> Quota | None:
    """The quota on which a type draws: that of its very generation, else that of its family."""
    found = re.match(r"([a-z]+)(\d*)", instance_type)
    if found is None:
        return None
    letters = found[1].upper()
    names = [letters + found[2], letters, letters[0] + found[2], letters[0]]
    by_family = {
        family.upper(): quota
        for quota in quotas
        if (named := NAMES[capacity].fullmatch(quota.name))
        for family in families(named["families"])
    }
    return next((by_family[name] for name in names if name in by_family), None)


def families(text: str) -> list[str]:
    """`G and VT`, `P4, P3 and P2`, `Standard (A, C, D)` as lists."""
    inner = re.search(r"\((.*)\)", text)
    return re.findall(r"[A-Z][A-Za-z0-9]*", inner[1] if inner else text)


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
    most = sum(max(sizes[p.name]) * p.max_nodes * len(p.zones) for p in pools)
    least = min(min(sizes[p.name]) for p in pools)
    names = ", ".join(pool.name for pool in pools)
    said = f"{quota.value:.0f} vCPUs; {names} may want {most}."
    raise_it = _raise(quota, most, region)
    if quota.value < least:
        return fail(check, f"{said} The smallest node has {least}: none can be had.", raise_it)
    if quota.value < most:
        return warn(check, said, raise_it)
    return passed(check, said)


def _raise(quota: Quota, vcpus: int, region: str) -> str:
    return (
        f"aws service-quotas request-service-quota-increase --service-code ec2 --region {region} "
        f"--quota-code {quota.code} --desired-value {vcpus}"
    )


def _sizes(pool: Pool, vcpus: Mapping[str, int]) -> list[int]:
    return [vcpus[each] for each in pool.instance_types if each in vcpus]
