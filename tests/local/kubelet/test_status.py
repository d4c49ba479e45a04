"""What a kubelet says of a pod, for every way in which its containers may stand."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spotrain.local.kubelet.differences import differs
from spotrain.local.kubelet.restarts import LONGEST_BACKOFF_SECONDS, backoff_seconds, restarts
from spotrain.local.kubelet.states import Container, Ended, PodState, Running, State, Waiting
from spotrain.local.kubelet.status import build_status, phase

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
DONE = Ended(0, NOW, NOW)
BROKEN = Ended(1, NOW, NOW)
RUNS = Running(NOW)
WAITS = Waiting()
POLICIES = ["Always", "OnFailure", "Never"]

states = st.sampled_from([DONE, BROKEN, RUNS, WAITS])
policies = st.sampled_from(POLICIES)


def pod(*main: State, init: tuple[State, ...] = (), policy: str = "Never", **more: Any) -> PodState:
    def containers(kind: str, found: tuple[State, ...]) -> tuple[Container, ...]:
        return tuple(
            Container(name=f"{kind}-{number}", image="any", state=state)
            for number, state in enumerate(found)
        )

    return PodState(
        init=containers("init", init),
        main=containers("main", main),
        restart_policy=policy,
        host_ip="127.0.0.1",
        ip="127.1.2.3",
        started_at=NOW,
        **more,
    )


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        pytest.param(pod(WAITS), "Pending", id="not started"),
        pytest.param(pod(RUNS, WAITS), "Running", id="one of two runs"),
        pytest.param(pod(DONE, WAITS), "Pending", id="one is over, one has never run"),
        pytest.param(pod(DONE, DONE), "Succeeded", id="all succeeded"),
        pytest.param(pod(DONE, BROKEN), "Failed", id="one failed"),
        pytest.param(pod(RUNS, BROKEN), "Running", id="one failed, one runs"),
        pytest.param(pod(BROKEN, policy="OnFailure"), "Running", id="about to start again"),
        pytest.param(pod(DONE, policy="OnFailure"), "Succeeded", id="success is kept"),
        pytest.param(pod(DONE, policy="Always"), "Running", id="success starts again"),
        pytest.param(pod(WAITS, init=(DONE, RUNS)), "Pending", id="init goes on"),
        pytest.param(pod(WAITS, init=(BROKEN,)), "Failed", id="init failed for good"),
        pytest.param(
            pod(WAITS, init=(BROKEN,), policy="OnFailure"), "Pending", id="init is tried again"
        ),
        pytest.param(pod(RUNS, reason="NotLocal"), "Failed", id="the node refuses the pod"),
    ],
)
def test_the_phase_follows_the_containers(state: PodState, expected: str) -> None:
    assert phase(state) == expected


@given(st.lists(states, min_size=1, max_size=3), st.lists(states, max_size=2), policies)
def test_a_pod_that_is_over_has_ended_whatever_its_policy(
    main: list[State], init: list[State], policy: str
) -> None:
    status = build_status(pod(*main, init=tuple(init), policy=policy), [], NOW, over=True)
    assert status["phase"] in ("Succeeded", "Failed")
    ready = {c["type"]: c["status"] for c in status["conditions"]}
    assert ready["Ready"] == ready["ContainersReady"] == "False"


@given(st.lists(states, min_size=1, max_size=3), policies)
def test_a_pod_is_ready_exactly_when_all_its_containers_run(main: list[State], policy: str) -> None:
    status = build_status(pod(*main, policy=policy), [], NOW)
    ready = {c["type"]: c["status"] for c in status["conditions"]}["Ready"]
    assert (ready == "True") == all(isinstance(state, Running) for state in main)


@given(st.lists(states, min_size=1, max_size=2), st.lists(states, min_size=1, max_size=2))
def test_a_transition_time_changes_with_its_condition_alone(
    first: list[State], second: list[State]
) -> None:
    before = build_status(pod(*first), [], NOW)["conditions"]
    later = NOW + timedelta(minutes=1)
    after = build_status(pod(*second), before, later)["conditions"]
    for old, new in zip(before, after, strict=True):
        changed = old["status"] != new["status"]
        assert (old["lastTransitionTime"] != new["lastTransitionTime"]) == changed


@given(st.lists(states, min_size=1, max_size=3), policies)
def test_what_was_just_written_is_not_written_again(main: list[State], policy: str) -> None:
    written = build_status(pod(*main, policy=policy), [], NOW)
    theirs = {"type": "PodScheduled", "status": "True"}
    stored = {**written, "qosClass": "BestEffort"}
    stored["conditions"] = [theirs, *written["conditions"]]
    later = NOW + timedelta(minutes=1)
    again = build_status(pod(*main, policy=policy), stored["conditions"], later)
    assert not differs(stored, again)


def test_a_changed_exit_code_is_news() -> None:
    assert differs(build_status(pod(DONE), [], NOW), build_status(pod(BROKEN), [], NOW))


def test_a_container_that_starts_again_remembers_how_it_ended() -> None:
    again = Container(name="main", image="any", state=BROKEN).become(RUNS)
    assert (again.restarts, again.last) == (1, BROKEN)
    document = build_status(pod(RUNS), [], NOW)["containerStatuses"][0]
    assert "lastState" not in document


@pytest.mark.parametrize(
    ("policy", "code", "is_init", "expected"),
    [
        ("Always", 0, False, True),
        ("Always", 0, True, False),
        ("Always", 1, True, True),
        ("OnFailure", 0, False, False),
        ("OnFailure", 1, False, True),
        ("Never", 1, False, False),
        ("Never", 1, True, False),
    ],
)
def test_a_container_starts_again_as_its_policy_says(
    policy: str, code: int, is_init: bool, expected: bool
) -> None:
    assert restarts(policy, code, is_init=is_init) is expected


@given(st.floats(0.01, 20), st.integers(0, 10_000))
def test_pauses_between_restarts_grow_to_their_limit(first: float, count: int) -> None:
    pause, after = backoff_seconds(first, count), backoff_seconds(first, count + 1)
    assert first <= pause <= after <= LONGEST_BACKOFF_SECONDS
