"""Workers for which nobody offers a node: why, since when, and where they go next."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from spotrain import contract
from spotrain.controller.board import ScaleUp
from spotrain.controller.presence import ARRIVAL_MINUTES
from spotrain.controller.scale_ups import BACKING_OFF
from spotrain.explain import google
from spotrain.explain.autoscaler import NAMESPACE, Group, is_quota, lacks_addresses
from spotrain.explain.cause import Cause, Gravity, clock, ended
from spotrain.explain.moves import next_move
from spotrain.explain.nodes import find_coming_nodes
from spotrain.explain.situation import Case, offer_of

SILENT_SECONDS: Final = 120
"""The autoscaler says something of a pod that it sees within seconds of it."""
NOT_TRIED: Final = "pod didn't trigger scale-up"
"""With this the autoscaler begins why it has ordered nothing; else it has, in vain."""
AUTOSCALER: Final = f"kubectl -n {NAMESPACE} get deployment cluster-autoscaler"


def find_missing_nodes(case: Case) -> Iterator[Cause]:
    """Why nobody offers a node to the pods that wait for one."""
    if not case.homeless or _waits_for_a_claim(case):
        return
    words = [case.scale_ups[pod.uid] for pod in case.homeless if pod.uid in case.scale_ups]
    last = max(words, key=lambda word: word.at, default=None)
    if (last is None or last.kind == "ordered") and any(find_coming_nodes(case)):
        return  # they say more than the order does, or than silence
    yield _of_word(case, last) if last else _of_silence(case)


def _of_word(case: Case, word: ScaleUp) -> Cause:
    said = ended(word.message)
    if word.kind == "ordered":
        return _ordered(case, word)
    if word.kind == "full":
        return Cause(
            reason="PoolFull",
            gravity=case.unless_it_trains(Gravity.WAITING),
            said=f"There are as many nodes as there may be in {_place(case)} ({_most(case)}), and "
            f"all are taken: nodes of other jobs must come free.{next_move(case)}",
            command="spotrain gpus",
        )
    group = _group(case)
    error = group.error if group else ""
    if is_quota(error) or is_quota(word.message):
        return Cause(
            reason="CloudQuota",
            gravity=case.unless_it_trains(Gravity.BLOCKED),
            said=f"The cloud account may not have more nodes in {_place(case)}: "
            f"{ended(error or word.message)} An administrator must have the account's quota "
            f"raised.{next_move(case)}",
            command="spotrain doctor",
        )
    if lacks_addresses(error) or lacks_addresses(word.message):
        return Cause(
            reason="NetworkFull",
            gravity=case.unless_it_trains(Gravity.BLOCKED),
            said=f"The network has no addresses left for nodes in {_place(case)}: "
            f"{ended(error or word.message)} An administrator must widen its ranges."
            f"{next_move(case)}",
            command="spotrain doctor",
        )
    if BACKING_OFF in word.message or not word.message.startswith(NOT_TRIED):
        since = _waits_since(case, group)
        told = f" ({ended(error).rstrip('.')})" if error else ""
        return Cause(
            reason="NoCapacity",
            gravity=case.unless_it_trains(Gravity.WAITING),
            said=f"The cloud has had no node to give in {_place(case)}"
            f"{f' since {clock(since)}' if since else ''}{told}.{next_move(case)}",
            command=f"spotrain status {case.name}",
        )
    if "Insufficient" in word.message:
        return Cause(
            reason="TooLargeForNode",
            gravity=case.unless_it_trains(Gravity.BLOCKED),
            said=f"A worker asks for more than any node of its place has. The autoscaler: {said} "
            "Lower its requests, or name another GPU type.",
            command=case.correction,
        )
    return Cause(
        reason="NoNodeGroup",
        gravity=case.unless_it_trains(Gravity.BLOCKED),
        said=f"The autoscaler knows no group of nodes that would serve its pods: {said} Either the "
        "template asks for what no pool has, or the autoscaler does not see the pools.",
        command="spotrain doctor",
    )


def _ordered(case: Case, word: ScaleUp) -> Cause:
    if case.now - word.at >= timedelta(minutes=ARRIVAL_MINUTES):
        return Cause(
            reason="NodeDidNotCome",
            gravity=case.unless_it_trains(Gravity.WAITING),
            said=f"A node was ordered at {clock(word.at)} and has not come in {ARRIVAL_MINUTES} "
            f"minutes: it counts as broken.{next_move(case)}",
            command="kubectl get nodes -L " + contract.LABEL_POOL,
        )
    return Cause(
        reason="NodeOrdered",
        gravity=case.unless_it_trains(Gravity.COMING),
        said=f"A node was ordered at {clock(word.at)}; booting takes a few minutes.",
        command=f"spotrain status {case.name}",
    )


def _of_silence(case: Case) -> Cause:
    """Nobody has said anything of the pods but the scheduler."""
    oldest = min(pod.created_at for pod in case.homeless)
    waits = case.now - oldest >= timedelta(seconds=SILENT_SECONDS)
    offer = offer_of(case.seen, case.pools, case.prices, case.now)
    arriving = case.presence is not None and case.presence.arriving_until is not None
    if not waits or arriving:
        return Cause(
            reason="LookingForNodes",
            gravity=case.unless_it_trains(Gravity.COMING),
            said=f"{len(case.homeless)} of its workers have been looking for a node since "
            f"{clock(oldest)}.",
            command=f"spotrain status {case.name}",
        )
    told = case.homeless[0].unschedulable
    scaled = offer is not None and bool(offer.pool.instance_types)
    if scaled:
        return Cause(
            reason="AutoscalerSilent",
            gravity=case.unless_it_trains(Gravity.BLOCKED),
            said=f"{len(case.homeless)} of its workers have been looking for a node since "
            f"{clock(oldest)}, and the autoscaler has said nothing of them: it does "
            f"not run, or does not see the pools. The scheduler: {ended(told)}",
            command=google.AUTOSCALER if google.is_on_google(case) else AUTOSCALER,
        )
    return Cause(
        reason="Unschedulable",
        gravity=case.unless_it_trains(Gravity.WAITING),
        said=f"No node takes {len(case.homeless)} of its workers. The scheduler: {ended(told)}"
        f"{next_move(case)}",
        command="spotrain gpus",
    )


def _waits_for_a_claim(case: Case) -> bool:
    return "persistentvolumeclaim" in case.homeless[0].unschedulable.lower()


def _group(case: Case) -> Group | None:
    offer = case.status.offer
    if case.autoscaler is None or offer is None:
        return None
    group = case.autoscaler.group(offer.pool, offer.zone)
    return group if group and group.backs_off else None


def _place(case: Case) -> str:
    offer = case.status.offer
    if offer is None:
        return "this cluster"
    return f"zone {offer.zone} of the pool {offer.pool}" if offer.zone else f"the pool {offer.pool}"


def _most(case: Case) -> str:
    offer = offer_of(case.seen, case.pools, case.prices, case.now)
    return f"{offer.pool.max_nodes} in a zone" if offer else "the pool's limit"


def _waits_since(case: Case, group: Group | None) -> datetime | None:
    offer = case.status.offer
    if offer and offer.waiting_since:
        return offer.waiting_since - timedelta(seconds=offer.waited_seconds)
    return group.since if group else None
