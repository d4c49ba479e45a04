"""Who leads: the rule by which several controllers agree on one, over a Lease. Pure.

A leader renews its Lease, and stops by itself when it could not for `GIVE_UP_SECONDS`, counted
from before the last renewal was sent. Another may take the Lease over once it has seen it
unchanged for the Lease's whole duration, counted from after it was read. Each goes by its own
clock and by durations alone, so clocks may show any time; they may differ in speed by the
quarter that the margin allows (12 s against 8).
"""

from dataclasses import dataclass, replace
from typing import Final

LEASE_SECONDS: Final = 12.0
"""A Lease that nobody has renewed for so long may be taken over."""
GIVE_UP_SECONDS: Final = 8.0
"""A leader that could not renew for so long leads no more: well before anybody else does."""
RETRY_SECONDS: Final = 2.0
"""Between two looks at the Lease, and two renewals. A dead leader is so replaced within
LEASE_SECONDS + 2 x RETRY_SECONDS: seen late by one, taken over late by another."""


@dataclass(frozen=True, kw_only=True)
class Lease:
    """As the API server holds it."""

    holder: str = ""
    """Identity of the leader; empty: it has stepped down."""
    seconds: float = LEASE_SECONDS
    transitions: int = 0
    version: str = ""
    """Every write changes it, and a write names the one that it replaces; empty: not there yet."""


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """What one controller knows. Times are seconds of its own clock."""

    identity: str
    lease: Lease | None = None
    """As last read or written; None: never."""
    unchanged_since: float = 0.0
    """When the version was first seen."""
    leads_until: float | None = None

    def leads(self, now: float) -> bool:
        return self.leads_until is not None and now < self.leads_until


def see(candidate: Candidate, lease: Lease, now: float) -> Candidate:
    """The Lease was read; `now` is after the answer. Another's name in it ends one's own term."""
    known = candidate.lease
    is_news = known is None or known.version != lease.version
    return replace(
        candidate,
        lease=lease,
        unchanged_since=now if is_news else candidate.unchanged_since,
        leads_until=candidate.leads_until if lease.holder == candidate.identity else None,
    )


def claim(candidate: Candidate, now: float) -> Lease | None:
    """What to write in place of the Lease last seen; None: it is another's."""
    lease = candidate.lease
    if lease is None:
        return None
    if lease.holder == candidate.identity:
        return replace(lease, seconds=LEASE_SECONDS)
    over_at = candidate.unchanged_since + max(lease.seconds, LEASE_SECONDS)
    if lease.holder and now < over_at:
        return None
    return Lease(
        holder=candidate.identity, transitions=lease.transitions + 1, version=lease.version
    )


def win(candidate: Candidate, written: Lease, *, sent_at: float, now: float) -> Candidate:
    """The claim is stored. `sent_at` is before it was sent, `now` after its answer.

    A renewal whose answer comes after the term has ended does not prolong it: something may have
    been left undone in between. The next claim begins a new term.
    """
    missed = candidate.leads_until is not None and not candidate.leads(now)
    return replace(
        candidate,
        lease=written,
        unchanged_since=now,
        leads_until=None if missed else sent_at + GIVE_UP_SECONDS,
    )


def stand_by(candidate: Candidate) -> Candidate:
    """The term is over, and all that belonged to it."""
    return replace(candidate, leads_until=None)


def resign(candidate: Candidate) -> Lease | None:
    """What to write so that another may lead at once; None: the Lease is not one's own."""
    lease = candidate.lease
    if lease is None or lease.holder != candidate.identity:
        return None
    return replace(lease, holder="")
