"""The agent's settings in a worker's environment."""

from typing import Any

import pytest

from spotrain.controller.model import CoordinatorAddress
from tests.controller.builders import built, environment, job, with_container

LOCAL = CoordinatorAddress("ws://127.0.0.1:9000", local=True, token="secret")


@pytest.mark.acceptance(3, 5)
def test_the_agent_is_told_where_the_coordinator_is_and_who_it_is() -> None:
    told = environment(built(job(backoffLimit=4)))
    address = {"fieldRef": {"fieldPath": "status.podIP"}}
    assert told == {
        "PYTHONUNBUFFERED": "1",
        "PET_NNODES": "1:3",
        "PET_MAX_RESTARTS": "4",
        "SPOTRAIN_GRACE_SECONDS": "90",
        "SPOTRAIN_COORDINATOR": "wss://spotrain-coordinator.spotrain-system.svc:8443",
        "SPOTRAIN_JOB": "jobs/digits/job-uid",
        "SPOTRAIN_POD": "digits-worker-1",
        "SPOTRAIN_ADDRESS": address,
        "SPOTRAIN_TOKEN_FILE": "/var/run/secrets/spotrain/token",
        "SPOTRAIN_CA_FILE": "/var/run/secrets/spotrain/ca.crt",
    }


@pytest.mark.acceptance(5)
def test_with_an_external_rendezvous_upstreams_settings_go_in() -> None:
    this = job(rdzvEndpoint="etcd-service:2379")
    manifest = built(this, attempt=2)
    told = environment(manifest)
    assert told["PET_RDZV_BACKEND"] == "etcd"
    assert told["PET_RDZV_ENDPOINT"] == "etcd-service:2379"
    assert told["PET_RDZV_ID"] == "job-uid-2"
    assert told["PET_MAX_RESTARTS"] == "100"
    assert told["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] == "1"
    assert told["PET_LOCAL_ADDR"] == {"fieldRef": {"fieldPath": "status.podIP"}}
    assert not [name for name in told if name in ("SPOTRAIN_COORDINATOR", "SPOTRAIN_TOKEN_FILE")]
    assert "spotrain-trust" not in [v["name"] for v in manifest["spec"]["volumes"]]


@pytest.mark.acceptance(4)
def test_what_the_user_set_wins() -> None:
    mine = {"name": "PET_RDZV_BACKEND", "value": "c10d"}
    template = {"spec": {"containers": [{"name": "w", "image": "i", "env": [mine]}]}}
    this = job(rdzvEndpoint="store:29400", worker={"template": template})
    variables = built(this)["spec"]["containers"][0]["env"]
    assert [v for v in variables if v["name"] == "PET_RDZV_BACKEND"] == [mine]
    assert variables[-1] == mine, "theirs come last, so that they may refer to ours"


@pytest.mark.acceptance(4)
def test_settings_reach_only_the_container_that_trains() -> None:
    sidecar = {"name": "sidecar", "image": "s"}
    this = with_container(sidecar, spec={"initContainers": [{"name": "init", "image": "i"}]})
    manifest = built(this)
    assert manifest["spec"]["containers"][0] == sidecar
    assert manifest["spec"]["initContainers"] == [{"name": "init", "image": "i"}]
    assert "PET_NNODES" in environment(manifest, 1)


@pytest.mark.acceptance(4)
def test_without_upstreams_name_the_first_container_trains() -> None:
    two = [{"name": "train", "image": "i"}, {"name": "log", "image": "l"}]
    manifest = built(job(worker={"template": {"spec": {"containers": two}}}))
    assert "PET_NNODES" in environment(manifest, 0)
    assert manifest["spec"]["containers"][1] == two[1]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({}, None, id="no-gpu"),
        pytest.param({"resources": {"limits": {"nvidia.com/gpu": 4}}}, "4", id="a-process-a-gpu"),
        pytest.param({"resources": {"limits": {"nvidia.com/gpu": "2"}}}, "2", id="as-text"),
        pytest.param(
            {
                "resources": {"limits": {"nvidia.com/gpu": 4}},
                "env": [{"name": "PET_NPROC_PER_NODE", "value": "1"}],
            },
            "1",
            id="the-user-knows-better",
        ),
    ],
)
def test_each_gpu_of_the_container_gets_a_process(
    fields: dict[str, Any], expected: str | None
) -> None:
    assert environment(built(with_container(**fields))).get("PET_NPROC_PER_NODE") == expected


def test_on_one_machine_a_random_token_replaces_the_pods_identity() -> None:
    manifest = built(job(), coordinator=LOCAL)
    told = environment(manifest)
    assert told["SPOTRAIN_COORDINATOR"] == "ws://127.0.0.1:9000"
    assert told["SPOTRAIN_TOKEN"] == "secret"
    assert "SPOTRAIN_TOKEN_FILE" not in told
    assert [v["name"] for v in manifest["spec"]["volumes"]] == ["spotrain-shm"]


def test_without_a_coordinator_no_address_is_invented() -> None:
    told = environment(built(job(), coordinator=None))
    assert [name for name in told if name.startswith("SPOTRAIN")] == ["SPOTRAIN_GRACE_SECONDS"]
