"""Checks of the way to the cluster: who one is there, what one may do, and whose clock is right."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from spotrain import contract
from spotrain.doctor.finding import Finding, fail, passed, warn

CLOCK_WARNS: Final = timedelta(seconds=10)
CLOCK_FAILS: Final = timedelta(minutes=5)
"""By more AWS takes no signature, and the cluster's login with it."""


def check_user(name: str, groups: Sequence[str]) -> Finding:
    """Whoever has a kubeconfig and no group is known to the cluster, and has no rights."""
    said = f"the cluster knows you as {name}"
    if contract.RESEARCHERS_GROUP in groups:
        return passed("kubeconfig", f"{said}, a member of {contract.RESEARCHERS_GROUP}.")
    return passed("kubeconfig", f"{said}.")


def check_right(allowed: bool, namespace: str) -> Finding:
    if allowed:
        return passed("rights", f"you may create jobs in {namespace}.")
    return fail(
        "rights",
        f"you may not create jobs in {namespace}.",
        f"ask the administrator for membership of {contract.RESEARCHERS_GROUP}, or name the jobs' "
        "--namespace",
    )


def check_clock(theirs: datetime | None, *, before: datetime, after: datetime) -> Finding:
    """`theirs`: what the API server said between `before` and `after`, in whole seconds."""
    if theirs is None:
        return warn("clock", "the API server did not say what time it is.", "date -u")
    ahead = before - theirs - timedelta(seconds=1)
    behind = theirs - after
    skew = max(ahead, behind, timedelta(0))
    if skew <= CLOCK_WARNS:
        return passed("clock", "this machine's agrees with the API server's.")
    way = "ahead of" if ahead > behind else "behind"
    said = f"this machine's is {skew.total_seconds():.0f} s {way} the API server's."
    fix = "let the machine take its time from the network (NTP)"
    if skew <= CLOCK_FAILS:
        return warn("clock", f"{said} What is shown as an age is wrong by as much.", fix)
    return fail("clock", f"{said} Logins fail by more than five minutes.", fix)
