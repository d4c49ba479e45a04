"""PodGroups at a real API server: where it knows them, and where it does not."""

from collections.abc import AsyncIterator

import pytest

from spotrain.controller.gang import COSCHEDULING
from spotrain.kinds import POD_GROUPS, Kind
from tests.cluster.cluster import CRDS, ControllerProcess, Namespace, is_established, until

pytestmark = pytest.mark.cluster

GROUPS = Kind(f"/apis/{COSCHEDULING}", POD_GROUPS)
NAME = f"{POD_GROUPS}.{COSCHEDULING.split('/')[0]}"


@pytest.fixture
async def gang_scheduler(namespace: Namespace) -> AsyncIterator[None]:
    """Its API, for one test."""
    group, version = COSCHEDULING.split("/")
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": NAME, "annotations": {"api-approved.kubernetes.io": "unapproved"}},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": "PodGroup", "plural": POD_GROUPS, "singular": "podgroup"},
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": anything},
                }
            ],
        },
    }
    made = await namespace.kube.create(CRDS, "", definition)
    await until(
        namespace.kube,
        CRDS,
        "",
        lambda crds: any(c["metadata"]["name"] == NAME and is_established(c) for c in crds),
    )
    yield
    await namespace.kube.delete(CRDS, "", NAME, uid=made["metadata"]["uid"])
    await until(
        namespace.kube, CRDS, "", lambda crds: NAME not in {c["metadata"]["name"] for c in crds}
    )


@pytest.mark.acceptance(31)
async def test_a_job_that_asks_for_a_gang_gets_its_group(
    namespace: Namespace, gang_scheduler: None, controller: ControllerProcess
) -> None:
    await controller.start()
    await namespace.submit("digits", 2, schedulingPolicy={})
    (group,) = await until(namespace.kube, GROUPS, namespace.name, bool)
    assert group["spec"]["minMember"] == 2
    assert group["metadata"]["ownerReferences"][0]["kind"] == "ElasticJob"
    pods = await namespace.until_pods(lambda found: len(found) == 2)
    labels = {pod["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] for pod in pods}
    assert labels == {"digits"}


@pytest.mark.acceptance(31)
async def test_without_a_gang_scheduler_the_job_runs_all_the_same(
    namespace: Namespace, controller: ControllerProcess
) -> None:
    await controller.start()
    await namespace.submit("digits", 2, schedulingPolicy={})
    await namespace.until_pods(lambda found: len(found) == 2)
