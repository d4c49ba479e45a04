"""The status survives the API server, and other writers survive the status."""

from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spotrain.controller.conditions import fails, holds, set_conditions
from spotrain.controller.status import (
    Condition,
    Disruption,
    FailureMark,
    JobStatus,
    OfferStatus,
    Progress,
    ReplicaStatus,
    Restarts,
    Stall,
    WorldStatus,
)
from spotrain.ledger.account import Account
from spotrain.ledger.entries import WorldEntry
from tests.controller.builders import NOW, after
from tests.controller.ledger_example import ACCOUNT

counts = st.integers(0, 99)
times = st.integers(-(10**6), 10**6).map(lambda n: after(n / 8))
statuses = st.builds(
    JobStatus,
    state=st.sampled_from(["Pending", "Running"]),
    conditions=st.lists(
        st.builds(
            Condition,
            st.sampled_from(["Created", "Running"]),
            st.sampled_from(["True", "False"]),
            st.text(max_size=5),
            st.text(max_size=5),
            times,
            counts,
        ),
        max_size=2,
    ).map(tuple),
    observed_generation=counts,
    start_time=st.none() | times,
    completion_time=st.none() | times,
    replica_statuses=st.fixed_dictionaries({"Worker": st.builds(ReplicaStatus, counts, counts)}),
    selector=st.text(max_size=5),
    offer=st.none() | st.builds(OfferStatus, st.just("t4"), st.just("a"), times),
    world=st.none() | st.builds(WorldStatus, counts, counts, times, counts),
    progress=st.none() | st.builds(Progress, counts, times),
    recorded_world=counts,
    restarts=st.builds(Restarts, counts, counts, counts, counts),
    attempt=counts,
    last_failure=st.none() | st.builds(FailureMark, times, counts),
    last_stall=st.none() | st.builds(Stall, counts, counts, times, st.text(max_size=5)),
    last_disruption=st.none()
    | st.builds(Disruption, st.text(max_size=5), st.text(max_size=5), st.text(max_size=5), times),
    counted_pods=st.lists(st.text(max_size=5), max_size=3).map(tuple),
    history=st.lists(
        st.builds(WorldEntry, number=counts, size=counts, published_at=times), max_size=2
    ).map(tuple),
    ledger=st.none() | st.just(ACCOUNT) | st.builds(Account, since=times),
)


@pytest.mark.acceptance(10)
@given(statuses)
def test_a_status_comes_back_as_it_was_written(status: JobStatus) -> None:
    assert JobStatus.from_document(status.to_document()) == status


def test_a_new_job_has_an_empty_status() -> None:
    assert JobStatus.from_document(None) == JobStatus.from_document({}) == JobStatus()


def test_what_others_keep_in_the_status_is_handed_on() -> None:
    document = {"whim": [{"number": 1}], "attempt": 3}
    status = JobStatus.from_document(document)
    assert status.attempt == 3
    assert status.to_document()["whim"] == [{"number": 1}]


def test_upstreams_old_status_is_understood() -> None:
    old = {
        "conditions": [
            {
                "type": "Running",
                "status": "True",
                "reason": "ElasticJobRunning",
                "lastUpdateTime": "2020-04-01T10:00:00Z",
                "lastTransitionTime": "2020-04-01T10:00:00Z",
            }
        ],
        "replicaStatuses": {"Worker": {"active": 2}},
        "startTime": None,
    }
    status = JobStatus.from_document(old)
    assert status.is_true("Running")
    assert status.workers.active == 2


def test_times_are_written_as_the_api_server_writes_them() -> None:
    assert JobStatus(start_time=NOW).to_document()["startTime"] == "2026-01-01T12:00:00Z"


def changed(status: JobStatus, *news: Condition, now: datetime) -> JobStatus:
    return set_conditions(status, *news, generation=7, now=now)


@pytest.mark.acceptance(9)
def test_a_condition_keeps_its_time_while_its_truth_stays() -> None:
    first = changed(JobStatus(), holds("Running", "A", "one"), now=NOW)
    second = changed(first, holds("Running", "B", "two"), now=after(9))
    third = changed(second, fails("Running", "C", "three"), now=after(10))
    assert [s.conditions[0].last_transition_time for s in (first, second, third)] == [
        NOW,
        NOW,
        after(10),
    ]
    assert second.conditions[0].message == "two"
    assert second.conditions[0].observed_generation == 7


@pytest.mark.acceptance(9)
def test_conditions_are_unique_and_one_that_never_held_is_not_mentioned() -> None:
    status = changed(JobStatus(), fails("Suspended", "X", ""), fails("Running", "Y", ""), now=NOW)
    again = changed(status, fails("Running", "Z", ""), now=NOW)
    assert [c.type for c in again.conditions] == ["Running"]


@pytest.mark.parametrize(
    ("true", "state"),
    [
        pytest.param(["Created"], "Pending", id="created"),
        pytest.param(["Created", "Running", "Restarting"], "Running", id="running-on"),
        pytest.param(["Restarting"], "Restarting", id="restarting"),
        pytest.param(["Suspended"], "Suspended", id="suspended"),
        pytest.param(["Running", "Succeeded"], "Succeeded", id="succeeded"),
        pytest.param(["Failed", "Suspended"], "Failed", id="failed"),
    ],
)
def test_the_state_is_the_condition_that_matters_most(true: list[str], state: str) -> None:
    news: list[Any] = [holds(kind, "R", "m") for kind in true]
    assert changed(JobStatus(), *news, now=NOW).state == state
