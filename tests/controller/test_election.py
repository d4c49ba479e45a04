"""The rule by which controllers agree on who leads: never two, and soon one."""

from dataclasses import dataclass, field, replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from spotrain.controller.election import (
    GIVE_UP_SECONDS,
    LEASE_SECONDS,
    RETRY_SECONDS,
    Candidate,
    Lease,
    claim,
    resign,
    see,
    stand_by,
    win,
)

US = Candidate(identity="us")
THEIRS = Lease(holder="them", version="7", transitions=3)


def test_a_lease_that_is_not_there_or_given_up_is_claimed_at_once() -> None:
    assert claim(see(US, Lease(), 5.0), 5.0) == Lease(holder="us", transitions=1)
    given_up = replace(THEIRS, holder="")
    assert claim(see(US, given_up, 5.0), 5.0) == replace(THEIRS, holder="us", transitions=4)


def test_anothers_lease_is_claimed_only_when_it_stood_unchanged_for_its_duration() -> None:
    watching = see(US, THEIRS, 5.0)
    last = see(watching, THEIRS, 5.0 + LEASE_SECONDS - 0.1)
    assert claim(last, 5.0 + LEASE_SECONDS - 0.1) is None
    assert claim(last, 5.0 + LEASE_SECONDS) is not None
    renewed = see(last, replace(THEIRS, version="8"), 5.0 + LEASE_SECONDS)
    assert claim(renewed, 5.0 + LEASE_SECONDS) is None


def test_a_longer_duration_that_the_holder_wrote_is_respected() -> None:
    watching = see(US, replace(THEIRS, seconds=30.0), 0.0)
    assert claim(watching, 29.9) is None
    assert claim(watching, 30.0) is not None


def leader(now: float = 0.0) -> Candidate:
    return win(see(US, Lease(), now), Lease(holder="us", version="1"), sent_at=now, now=now)


def test_a_term_counts_from_before_the_claim_was_sent() -> None:
    won = win(see(US, Lease(), 0.0), Lease(holder="us", version="1"), sent_at=1.0, now=4.0)
    assert won.leads(1.0 + GIVE_UP_SECONDS - 0.1)
    assert not won.leads(1.0 + GIVE_UP_SECONDS)


def test_an_answer_that_comes_after_the_term_has_ended_does_not_prolong_it() -> None:
    late = GIVE_UP_SECONDS + 0.5
    woken = win(leader(), Lease(holder="us", version="2"), sent_at=GIVE_UP_SECONDS - 1, now=late)
    assert not woken.leads(late)
    again = win(stand_by(woken), Lease(holder="us", version="3"), sent_at=late, now=late)
    assert again.leads(late)


def test_seeing_anothers_name_ends_the_term_at_once() -> None:
    assert not see(leader(), THEIRS, 1.0).leads(1.0)


def test_only_the_holder_resigns() -> None:
    given_up = resign(leader())
    assert given_up is not None
    assert given_up.holder == ""
    assert resign(see(US, THEIRS, 0.0)) is None


@dataclass
class Store:
    """The API server's part: a write names the version that it replaces."""

    lease: Lease = field(default_factory=Lease)

    def write(self, lease: Lease) -> Lease | None:
        if lease.version != self.lease.version:
            return None
        self.lease = replace(lease, version=str(int(lease.version or 0) + 1))
        return self.lease


@dataclass
class Replica:
    """A controller whose clock shows any time and runs at its own speed, as the shell drives it."""

    candidate: Candidate
    offset: float
    speed: float
    sent_at: float | None = None
    answer: Lease | None = None
    held_by: Lease | None = None
    """The claim that it was about to send when it was stopped."""

    def clock(self, now: float) -> float:
        return self.offset + now * self.speed

    def leads(self, now: float) -> bool:
        return self.candidate.leads(self.clock(now))

    def read(self, store: Store, now: float) -> None:
        self.candidate = see(self.candidate, store.lease, self.clock(now))
        self.sent_at, self.answer = self.clock(now), None
        self.held_by = claim(self.candidate, self.sent_at)

    def send(self, store: Store) -> None:
        if self.held_by:
            self.answer = store.write(self.held_by)
        self.held_by = None

    def hear(self, now: float) -> None:
        if self.answer and self.sent_at is not None:
            here = self.clock(now)
            self.candidate = win(self.candidate, self.answer, sent_at=self.sent_at, now=here)
            if not self.candidate.leads(here):
                self.candidate = stand_by(self.candidate)
        self.answer = None


ACTS = st.tuples(
    st.sampled_from(["read", "send", "hear", "lose the answer", "all", "all", "all"]),
    st.integers(0, 2),
    st.floats(0, 2 * LEASE_SECONDS),
)


def replicas(offsets: list[float], speeds: list[float]) -> list[Replica]:
    return [
        Replica(Candidate(identity=f"replica-{i}"), offset, speed)
        for i, (offset, speed) in enumerate(zip(offsets, speeds, strict=True))
    ]


def act(what: str, replica: Replica, store: Store, now: float) -> None:
    if what in ("read", "all"):
        replica.read(store, now)
    if what in ("send", "all"):
        replica.send(store)
    if what in ("hear", "all"):
        replica.hear(now)
    if what == "lose the answer":
        replica.answer = None


OFFSETS = st.lists(st.floats(0, 1e6), min_size=3, max_size=3)
SPEEDS = st.lists(st.floats(0.85, 1.15), min_size=3, max_size=3)


@pytest.mark.acceptance(38)
@given(OFFSETS, SPEEDS, st.lists(ACTS, max_size=60))
def test_two_never_lead_whatever_stops_wherever_for_however_long(
    offsets: list[float], speeds: list[float], acts: list[tuple[str, int, float]]
) -> None:
    store, three, now = Store(), replicas(offsets, speeds), 0.0
    for what, who, pause in acts:
        act(what, three[who], store, now)
        assert sum(replica.leads(now) for replica in three) <= 1
        now += pause
        assert sum(replica.leads(now) for replica in three) <= 1


@pytest.mark.acceptance(38)
@given(OFFSETS, SPEEDS, st.lists(ACTS, max_size=30), st.floats(0, RETRY_SECONDS))
def test_a_leader_that_dies_is_replaced_within_twenty_seconds(
    offsets: list[float], speeds: list[float], acts: list[tuple[str, int, float]], phase: float
) -> None:
    store, three, now = Store(), replicas(offsets, speeds), 0.0
    for what, who, pause in acts:
        act(what, three[who], store, now)
        now += pause
    one, two, dying = three
    act("all", dying, store, now)  # it may have renewed just now
    assume(dying.leads(now))
    died = now
    now += phase
    while not (one.leads(now) or two.leads(now)):
        act("all", one, store, now)
        act("all", two, store, now)
        assert now - died < 20.0
        now += RETRY_SECONDS


def test_the_figures_leave_time_for_agents_to_come_back() -> None:
    assert LEASE_SECONDS + 2 * RETRY_SECONDS < 20.0 - 3.0
    assert GIVE_UP_SECONDS / 0.85 < LEASE_SECONDS / 1.15
    assert 3 * RETRY_SECONDS < GIVE_UP_SECONDS
