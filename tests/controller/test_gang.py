"""Gang schedulers get their PodGroup, where there are any."""

from typing import Any

import pytest

from spotrain.controller.gang import COSCHEDULING, VOLCANO
from spotrain.controller.model import ApplyPodGroup, CreatePod
from spotrain.controller.reconcile import reconcile
from tests.controller.builders import NOW, job, seen

CONTAINER = {"name": "elasticjob-worker", "image": "img"}
VOLCANOS = {"template": {"spec": {"containers": [CONTAINER], "schedulerName": "volcano"}}}
ASKED: dict[str, Any] = {"minReplicas": 2, "schedulingPolicy": {}}


@pytest.mark.acceptance(31)
@pytest.mark.parametrize(
    ("spec", "apis", "group"),
    [
        pytest.param(ASKED, {COSCHEDULING}, COSCHEDULING, id="scheduler-plugins"),
        pytest.param({**ASKED, "worker": VOLCANOS}, {VOLCANO}, VOLCANO, id="volcano"),
        pytest.param({**ASKED, "worker": VOLCANOS}, {COSCHEDULING}, "", id="the-other-scheduler"),
        pytest.param(
            {"minReplicas": 2, "runPolicy": {"schedulingPolicy": {"minAvailable": 3}}},
            {COSCHEDULING},
            COSCHEDULING,
            id="upstreams-number-is-not-what-counts",
        ),
        pytest.param(ASKED, set(), "", id="no-such-api-and-no-error"),
        pytest.param({"minReplicas": 2}, {COSCHEDULING, VOLCANO}, "", id="not-asked-for"),
    ],
)
def test_a_gang_is_of_min_replicas_and_stands_before_its_pods(
    spec: dict[str, Any], apis: set[str], group: str
) -> None:
    actions = reconcile(job(**spec), seen(gang_apis=frozenset(apis)), NOW).actions
    groups = [action for action in actions if isinstance(action, ApplyPodGroup)]
    pods = [action for action in actions if isinstance(action, CreatePod)]
    assert [made.api for made in groups] == ([group] if group else [])
    assert len(pods) == 3
    for made in groups:
        assert made.manifest["spec"] == {"minMember": 2}
        assert made.manifest["metadata"]["ownerReferences"][0]["uid"] == "job-uid"
        assert actions.index(made) < actions.index(pods[0])
    for pod in pods:
        metadata = pod.manifest["metadata"]
        label = metadata["labels"].get("scheduling.x-k8s.io/pod-group")
        note = metadata["annotations"].get("scheduling.k8s.io/group-name")
        assert label == ("digits" if group == COSCHEDULING else None)
        assert note == ("digits" if group == VOLCANO else None)
