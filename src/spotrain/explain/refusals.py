"""Why no worker is created: a spec, a place, a turn or a quota that does not allow it."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from lightkube.utils.quantity import parse_quantity

from spotrain import contract
from spotrain.controller.claims import RESEARCHER_LIMIT, RESEARCHER_LIMIT_TOO_LOW
from spotrain.controller.moving import OFFER_GONE, PLACE_TAKEN
from spotrain.controller.offers import list_offers, why_none
from spotrain.controller.placement import is_placed
from spotrain.controller.refusal import INVALID_SPEC
from spotrain.controller.status import RUNNING
from spotrain.controller.turns import SWEEP_LIMIT
from spotrain.controller.why import FAILED_CREATE, QUOTA, REFUSED
from spotrain.explain.cause import Cause, Gravity, ended
from spotrain.explain.situation import Case
from spotrain.job import JobError

EXCEEDED: Final = re.compile(
    r"exceeded quota: (?P<name>\S+), requested: (?P<asked>\S+), used: (?P<used>\S+), "
    r"limited: (?P<hard>[^;\s]+)"
)
"""As the API server's quota admission says it; each part is a list of resource=quantity."""
INTRODUCTION: Final = {
    PLACE_TAKEN: "Others go first: ",
    RESEARCHER_LIMIT: "Its researcher's share is used up: ",
    RESEARCHER_LIMIT_TOO_LOW: "Its researcher's share is too small: ",
    SWEEP_LIMIT: "Its sweep's other jobs go first: ",
    OFFER_GONE: "Its place is gone: ",
}
COUNT: Final = re.compile(r"\d+ of \d+ workers are ready, \d+ needed\. ")
"""With this the controller begins what it says."""


def find_invalid_spec(case: Case) -> Iterator[Cause]:
    condition = case.condition(RUNNING)
    told = condition.message if condition.reason == INVALID_SPEC else ""
    fault = case.seen.job if isinstance(case.seen.job, JobError) else None
    if fault or told:
        said = ended(str(fault) if fault else told)
        yield Cause(
            reason=INVALID_SPEC,
            gravity=Gravity.BLOCKED,
            said=f"Its spec cannot be used; nothing is done with it until it is corrected: {said}",
            command=case.correction,
        )


def find_no_offer(case: Case) -> Iterator[Cause]:
    """No pool that serves it. Found as the controller finds it, from the same pools."""
    job = case.job
    if job is None or not is_placed(job) or case.raw.pools is None:
        return
    if list_offers(job, case.pools, case.prices, case.now):
        return
    if case.status.offer is not None and case.pods:
        return  # its workers train on in a place that is gone: OfferGone says so
    obstacle = why_none(job, case.pools)
    yield Cause(
        reason=obstacle.reason,
        gravity=Gravity.BLOCKED,
        said=f"No place serves it: {ended(obstacle.message)}",
        command="spotrain gpus",
    )


def find_turn(case: Case) -> Iterator[Cause]:
    """Others hold what it needs. Who holds what only the controller sees: it is quoted."""
    sweep = case.job.labels.get(contract.LABEL_SWEEP, "") if case.job else ""
    steps = {
        PLACE_TAKEN: (Gravity.WAITING, "spotrain list"),
        RESEARCHER_LIMIT: (Gravity.WAITING, "spotrain list"),
        RESEARCHER_LIMIT_TOO_LOW: (Gravity.BLOCKED, case.correction),
        SWEEP_LIMIT: (Gravity.WAITING, f"spotrain sweep {sweep}"),
        OFFER_GONE: (Gravity.WAITING, f"spotrain stop {case.name}"),
    }
    for reason, (gravity, command) in steps.items():
        message = _obstacle(case, reason)
        if message:
            gravity = case.unless_it_trains(gravity)
            said = f"{INTRODUCTION[reason]}{ended(message)}"
            yield Cause(reason=reason, gravity=gravity, said=said, command=command)


def find_refused_pods(case: Case) -> Iterator[Cause]:
    condition = case.condition(RUNNING)
    _, found, refusal = condition.message.partition(f"{REFUSED}: ")
    if not found:
        return
    exceeded = EXCEEDED.search(refusal)
    if exceeded:
        yield _quota(case, exceeded)
    elif condition.reason != QUOTA:
        yield Cause(
            reason=FAILED_CREATE,
            gravity=case.blocked,
            said=f"The cluster refuses its pods: {ended(refusal)}",
            command=case.correction,
        )


class _Limit(NamedTuple):
    resource: str
    hard: str
    used: str

    def allows(self, asked: str, pods: int) -> bool:
        most, each = parse_quantity(self.hard), parse_quantity(asked)
        return most is None or each is None or each * pods <= most


def _quota(case: Case, exceeded: re.Match[str]) -> Cause:
    """Room may come when others leave; a limit below what the job needs at least never has any."""
    name = exceeded["name"]
    asked, hard = _amounts(exceeded["asked"]), _amounts(exceeded["hard"])
    limits = [_limit(case, name, each, hard[each], exceeded) for each in asked if each in hard]
    told = ", ".join(f"{each.used} of {each.hard} {each.resource} are taken" for each in limits)
    needs = case.job.min_replicas if case.job else 1
    hopeless = next((each for each in limits if not each.allows(asked[each.resource], needs)), None)
    if hopeless:
        each = asked[hopeless.resource]
        return Cause(
            reason="QuotaTooLow",
            gravity=Gravity.BLOCKED,
            said=f"The quota {name} allows {hopeless.hard} {hopeless.resource} in all, and "
            f"minReplicas asks for {needs} times {each}: it can never start. Lower minReplicas, or "
            "have the quota raised.",
            command=case.kubectl(f"describe resourcequota {name}"),
        )
    return Cause(
        reason=QUOTA,
        gravity=case.unless_it_trains(Gravity.WAITING),
        said=f"The quota {name} of the namespace is used up ({told}). It starts by itself when "
        "other jobs leave enough, or when the quota is raised.",
        command=case.kubectl(f"describe resourcequota {name}"),
    )


def _limit(case: Case, quota: str, resource: str, hard: str, exceeded: re.Match[str]) -> _Limit:
    """As the quota stands now, where it could be read; else as it stood at the refusal."""
    for document in case.raw.quotas:
        if document["metadata"]["name"] == quota:
            status = document.get("status") or {}
            now = (status.get("hard") or {}).get(resource)
            used = (status.get("used") or {}).get(resource, "0")
            if now is not None:
                return _Limit(resource, str(now), str(used))
    return _Limit(resource, hard, _amounts(exceeded["used"]).get(resource, "0"))


def _amounts(text: str) -> dict[str, str]:
    pairs = (part.split("=", 1) for part in text.split(",") if "=" in part)
    return {resource: amount for resource, amount in pairs}


def _obstacle(case: Case, reason: str) -> str:
    """What the controller says of an obstacle that stands now; empty: it does not."""
    condition = case.condition(RUNNING)
    event = case.told(reason)
    if event and event.message in condition.message:
        return event.message
    return COUNT.sub("", condition.message) if condition.reason == reason else ""
