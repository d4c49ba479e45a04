"""The manifest of a worker: the user's template, and what every job needs besides."""

import copy
import warnings
from typing import Any

import pytest

from spotrain import contract
from spotrain.controller.model import CLUSTER_COORDINATOR, CoordinatorAddress
from spotrain.controller.pod import build_pod, bytes_of
from spotrain.job import ElasticJob, Offer
from tests.controller.builders import job, pool

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import kubernetes_validate

OFFER = Offer(pool(), "a")
LOCAL = CoordinatorAddress("ws://127.0.0.1:9000", local=True, token="secret")


def with_container(*others: dict[str, Any], spec: Any = None, **fields: Any) -> ElasticJob:
    """A job whose training container has these fields; `others` stand beside it."""
    container = {"name": "elasticjob-worker", "image": "img", **fields}
    return job(worker={"template": {"spec": {"containers": [*others, container], **(spec or {})}}})


def built(this: ElasticJob, index: int = 1, **options: Any) -> dict[str, Any]:
    offer = options.pop("offer", OFFER)
    return build_pod(this, index, offer, options.pop("coordinator", CLUSTER_COORDINATOR), **options)


def environment(manifest: dict[str, Any], container: int = 0) -> dict[str, Any]:
    variables = manifest["spec"]["containers"][container].get("env", [])
    return {v["name"]: v.get("value", v.get("valueFrom")) for v in variables}


def test_the_pod_has_upstreams_name_and_four_labels() -> None:
    metadata = built(job())["metadata"]
    assert metadata["name"] == "digits-worker-1"
    assert metadata["namespace"] == "jobs"
    assert metadata["labels"] == {
        "group-name": "elastic.pytorch.org",
        "job-name": "digits",
        "replica-type": "worker",
        "replica-index": "1",
    }


def test_the_garbage_collector_knows_the_owner_and_no_finalizer_is_needed() -> None:
    metadata = built(job())["metadata"]
    assert metadata["ownerReferences"] == [
        {
            "apiVersion": "elastic.pytorch.org/v1alpha1",
            "kind": "ElasticJob",
            "name": "digits",
            "uid": "job-uid",
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]
    assert "finalizers" not in metadata


def test_the_template_stays_as_the_user_wrote_it() -> None:
    spec: dict[str, Any] = {
        "priorityClassName": "low",
        "schedulerName": "other",
        "resourceClaims": [{"name": "c"}],
        "affinity": {"nodeAffinity": {}},
        "volumes": None,
        "tolerations": None,
    }
    this = with_container(spec=spec, env=None, volumeMounts=None)
    before = copy.deepcopy(this.template)
    manifest = built(this)
    assert this.template == before
    kept = ("priorityClassName", "schedulerName", "resourceClaims", "affinity")
    assert {key: manifest["spec"][key] for key in kept} == {key: spec[key] for key in kept}


def test_labels_and_annotations_of_the_template_are_kept() -> None:
    template = {
        "metadata": {
            "name": "ignored",
            "generateName": "ignored-",
            "labels": {"team": "vision", "job-name": "stolen"},
            "annotations": {"a": "b"},
        },
        "spec": {"containers": [{"name": "w", "image": "i"}]},
    }
    metadata = built(job(worker={"template": template}))["metadata"]
    assert metadata["labels"]["team"] == "vision"
    assert metadata["labels"]["job-name"] == "digits"
    assert metadata["annotations"] == {"a": "b", "spotrain.dev/attempt": "0"}
    assert (metadata["name"], "generateName" in metadata) == ("digits-worker-1", False)


@pytest.mark.parametrize(
    ("policy", "pods"),
    [("ExitCode", "Never"), ("Never", "Never"), ("OnFailure", "OnFailure"), ("Always", "Always")],
)
def test_exit_code_is_the_controllers_business_and_never_the_kubelets(
    policy: str, pods: str
) -> None:
    assert built(job(worker={"restartPolicy": policy}))["spec"]["restartPolicy"] == pods


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


def test_what_the_user_set_wins() -> None:
    mine = {"name": "PET_RDZV_BACKEND", "value": "c10d"}
    template = {"spec": {"containers": [{"name": "w", "image": "i", "env": [mine]}]}}
    this = job(rdzvEndpoint="store:29400", worker={"template": template})
    variables = built(this)["spec"]["containers"][0]["env"]
    assert [v for v in variables if v["name"] == "PET_RDZV_BACKEND"] == [mine]
    assert variables[-1] == mine, "theirs come last, so that they may refer to ours"


def test_settings_reach_only_the_container_that_trains() -> None:
    sidecar = {"name": "sidecar", "image": "s"}
    this = with_container(sidecar, spec={"initContainers": [{"name": "init", "image": "i"}]})
    manifest = built(this)
    assert manifest["spec"]["containers"][0] == sidecar
    assert manifest["spec"]["initContainers"] == [{"name": "init", "image": "i"}]
    assert "PET_NNODES" in environment(manifest, 1)


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


@pytest.mark.parametrize(
    ("memory", "share"),
    [
        pytest.param("8Gi", {"sizeLimit": "2Gi"}, id="a-quarter"),
        pytest.param("1Gi", {"sizeLimit": "256Mi"}, id="in-whole-units"),
        pytest.param("1G", {"sizeLimit": "250000000"}, id="decimal"),
        pytest.param(1073741824, {"sizeLimit": "256Mi"}, id="a-number"),
        pytest.param("lots", {}, id="no-quantity"),
        pytest.param(None, {}, id="no-limit"),
    ],
)
def test_shared_memory_is_a_quarter_of_the_containers_memory(
    memory: Any, share: dict[str, str]
) -> None:
    limits = {"resources": {"limits": {"memory": memory}}} if memory is not None else {}
    manifest = built(with_container(**limits))
    volumes = {volume["name"]: volume for volume in manifest["spec"]["volumes"]}
    assert volumes["spotrain-shm"]["emptyDir"] == {"medium": "Memory", **share}
    mounts = manifest["spec"]["containers"][0]["volumeMounts"]
    assert {"name": "spotrain-shm", "mountPath": "/dev/shm"} in mounts


def test_the_end_of_the_log_stands_in_for_a_missing_message() -> None:
    (container,) = built(job())["spec"]["containers"]
    assert container["terminationMessagePolicy"] == "FallbackToLogsOnError"
    (mine,) = built(with_container(terminationMessagePolicy="File"))["spec"]["containers"]
    assert mine["terminationMessagePolicy"] == "File"


def test_a_template_that_mounts_shared_memory_keeps_its_own() -> None:
    mount = {"name": "mine", "mountPath": "/dev/shm/"}
    manifest = built(with_container(volumeMounts=[mount], spec={"volumes": [{"name": "mine"}]}))
    assert [v["name"] for v in manifest["spec"]["volumes"]] == ["mine", "spotrain-trust"]


@pytest.mark.parametrize(
    ("spec", "offer", "grace", "told"),
    [
        pytest.param({}, OFFER, 90, "90", id="the-pools-notice"),
        pytest.param({"terminationGracePeriodSeconds": 20}, OFFER, 20, "20", id="the-templates"),
        pytest.param({}, None, None, "30", id="the-clusters-default"),
    ],
)
def test_the_grace_period_is_the_notice_that_the_pool_gives(
    spec: dict[str, Any], offer: Offer | None, grace: int | None, told: str
) -> None:
    manifest = built(with_container(spec=spec), offer=offer)
    assert manifest["spec"].get("terminationGracePeriodSeconds") == grace
    assert environment(manifest)["SPOTRAIN_GRACE_SECONDS"] == told


def test_an_offer_pins_the_pod_and_lets_it_onto_gpu_nodes() -> None:
    spec = built(with_container(spec={"nodeSelector": {"disk": "ssd"}}))["spec"]
    assert spec["nodeSelector"] == {
        contract.LABEL_POOL: "t4-spot",
        contract.LABEL_ZONE: "a",
        "disk": "ssd",
    }
    assert spec["tolerations"] == [{"key": "nvidia.com/gpu", "operator": "Exists"}]


def test_without_an_offer_a_gpu_job_still_tolerates_gpu_nodes_and_a_cpu_job_does_not() -> None:
    gpu = with_container(resources={"limits": {"nvidia.com/gpu": 1}})
    assert built(gpu, offer=None)["spec"]["tolerations"]
    assert "tolerations" not in built(job(), offer=None)["spec"]
    assert "nodeSelector" not in built(gpu, offer=None)["spec"]


def test_a_toleration_that_is_there_is_not_added_twice() -> None:
    mine = [{"key": "nvidia.com/gpu", "operator": "Exists"}]
    assert built(with_container(spec={"tolerations": mine}))["spec"]["tolerations"] == mine


def test_an_offer_of_any_zone_pins_to_the_pool_alone() -> None:
    spec = built(job(), offer=Offer(pool(), ""))["spec"]
    assert spec["nodeSelector"] == {contract.LABEL_POOL: "t4-spot"}


def test_the_token_is_bound_to_the_coordinator_and_comes_with_its_authority() -> None:
    spec = built(job())["spec"]
    volumes = {volume["name"]: volume for volume in spec["volumes"]}
    token, authority = volumes["spotrain-trust"]["projected"]["sources"]
    assert token["serviceAccountToken"]["audience"] == "spotrain"
    assert authority["configMap"]["items"] == [{"key": "ca.crt", "path": "ca.crt"}]
    mount = next(m for m in spec["containers"][0]["volumeMounts"] if m["name"] == "spotrain-trust")
    assert mount["readOnly"] is True


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


@pytest.mark.parametrize(
    "this",
    [
        pytest.param(job(), id="plain"),
        pytest.param(job(rdzvEndpoint="etcd:2379"), id="external"),
        pytest.param(
            with_container(resources={"limits": {"nvidia.com/gpu": 1, "memory": "1Gi"}}), id="gpu"
        ),
    ],
)
def test_kubernetes_finds_nothing_to_refuse_in_a_manifest(this: ElasticJob) -> None:
    kubernetes_validate.validate(built(this), "1.36", strict=True)


@pytest.mark.parametrize(
    ("quantity", "count"),
    [
        ("1", 1),
        ("1k", 1000),
        ("1Ki", 1024),
        ("1.5Gi", 1610612736),
        ("2T", 2 * 10**12),
        ("", None),
        ("x", None),
    ],
)
def test_quantities_are_read_as_kubernetes_means_them(quantity: str, count: int | None) -> None:
    assert bytes_of(quantity) == count
