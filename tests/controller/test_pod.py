"""The manifest of a worker: the user's template, and what every job needs besides."""

import copy
import warnings
from dataclasses import replace
from typing import Any

import pytest

from spotrain import contract
from spotrain.controller.pod import bytes_of
from spotrain.job import ElasticJob, Offer
from tests.controller.builders import OFFER, built, environment, job, pool, with_container

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import kubernetes_validate


@pytest.mark.acceptance(2)
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


@pytest.mark.acceptance(2, 36)
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


@pytest.mark.acceptance(33)
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


@pytest.mark.acceptance(30)
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
    assert metadata["annotations"] == {
        "a": "b",
        "spotrain.dev/attempt": "0",
        "spotrain.dev/made-of": metadata["annotations"]["spotrain.dev/made-of"],
        "spotrain.dev/offer": "t4-spot/a",
        "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
    }
    assert (metadata["name"], "generateName" in metadata) == ("digits-worker-1", False)


@pytest.mark.acceptance(14)
@pytest.mark.parametrize(
    ("policy", "pods"),
    [("ExitCode", "Never"), ("Never", "Never"), ("OnFailure", "OnFailure"), ("Always", "Always")],
)
def test_exit_code_is_the_controllers_business_and_never_the_kubelets(
    policy: str, pods: str
) -> None:
    assert built(job(worker={"restartPolicy": policy}))["spec"]["restartPolicy"] == pods


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


@pytest.mark.parametrize(
    ("said", "mounted"), [({}, False), ({"automountServiceAccountToken": True}, True)]
)
def test_a_worker_has_a_token_for_the_kubernetes_api_only_where_its_template_asks(
    said: dict[str, bool], mounted: bool
) -> None:
    assert built(with_container(spec=said))["spec"]["automountServiceAccountToken"] is mounted


def test_a_template_that_mounts_shared_memory_keeps_its_own() -> None:
    mount = {"name": "mine", "mountPath": "/dev/shm/"}
    manifest = built(with_container(volumeMounts=[mount], spec={"volumes": [{"name": "mine"}]}))
    assert [v["name"] for v in manifest["spec"]["volumes"]] == ["mine", "spotrain-trust"]


@pytest.mark.parametrize(
    ("spec", "offer", "grace", "told"),
    [
        pytest.param({}, OFFER, 90, "90", id="the-pools-notice"),
        pytest.param({"terminationGracePeriodSeconds": 20}, OFFER, 20, "20", id="the-templates"),
        pytest.param(
            {"terminationGracePeriodSeconds": 600}, OFFER, 600, "90", id="no-machine-waits-longer"
        ),
        pytest.param({}, None, None, "30", id="the-clusters-default"),
    ],
)
def test_the_grace_period_is_the_notice_that_the_pool_gives(
    spec: dict[str, Any], offer: Offer | None, grace: int | None, told: str
) -> None:
    manifest = built(with_container(spec=spec), offer=offer)
    assert manifest["spec"].get("terminationGracePeriodSeconds") == grace
    assert environment(manifest)["SPOTRAIN_GRACE_SECONDS"] == told


@pytest.mark.acceptance(32)
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
        ("9" * 400, None),
    ],
)
def test_quantities_are_read_as_kubernetes_means_them(quantity: str, count: int | None) -> None:
    assert bytes_of(quantity) == count


@pytest.mark.acceptance(30)
@pytest.mark.parametrize(
    ("own", "expected"),
    [
        pytest.param({}, "team", id="the-jobs"),
        pytest.param({"kueue.x-k8s.io/queue-name": "other"}, "other", id="the-templates-wins"),
    ],
)
def test_pods_wait_in_the_queue_of_their_job(own: dict[str, str], expected: str) -> None:
    template = {"metadata": {"labels": own}, "spec": {"containers": [{"name": "w"}]}}
    labels = {"kueue.x-k8s.io/queue-name": "team", "unrelated": "x"}
    this = replace(job(worker={"template": template}), labels=labels)
    made = built(this)["metadata"]["labels"]
    assert made["kueue.x-k8s.io/queue-name"] == expected
    assert "unrelated" not in made


@pytest.mark.acceptance(32)
def test_workers_without_a_place_wish_to_be_near_each_other_and_never_insist() -> None:
    """A rule would keep the first worker of a cluster without zones from every node."""
    mine = {"weight": 1, "podAffinityTerm": {"topologyKey": "rack"}}
    wished = "preferredDuringSchedulingIgnoredDuringExecution"
    given = {"podAffinity": {wished: [mine]}, "nodeAffinity": {"a": "b"}}
    affinity = built(with_container(spec={"affinity": given}), offer=None)["spec"]["affinity"]
    assert affinity["nodeAffinity"] == {"a": "b"}
    assert affinity["podAffinity"].keys() == {wished}
    first, ours = affinity["podAffinity"][wished]
    assert first == mine
    assert ours["podAffinityTerm"]["topologyKey"] == "topology.kubernetes.io/zone"
    siblings = ours["podAffinityTerm"]["labelSelector"]["matchLabels"]
    manifest = built(with_container(), offer=None)
    assert siblings.items() <= manifest["metadata"]["labels"].items()
    assert "affinity" not in built(with_container())["spec"], "a place is pinned by selector"


def test_a_job_that_may_use_any_zone_wishes_nothing() -> None:
    this = job(placement={"zone": "any"})
    assert "affinity" not in built(this, offer=None)["spec"]
