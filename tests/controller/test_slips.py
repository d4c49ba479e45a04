"""From a document with any slip in it to a pod, or to a refusal; never to a crash."""

import contextlib
import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spotrain.controller.model import CLUSTER_COORDINATOR
from spotrain.controller.pod import build_pod
from spotrain.job import JobError, parse_job
from tests.test_job import document

scalars = st.none() | st.booleans() | st.integers(-3, 10**10) | st.floats() | st.text(max_size=3)
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    below = value.items() if isinstance(value, dict) else ()
    deeper = enumerate(value) if isinstance(value, list) else below
    return [path, *(found for key, item in deeper for found in places(item, (*path, key)))]


FULL = document(
    rdzvEndpoint="etcd:1",
    minReplicas=1,
    maxReplicas=3,
    placement={"gpu": "t4", "pools": ["p"]},
    elastic={"allowedReplicas": [1]},
    budget={"maxDollars": 1.5},
    backoffLimit=1,
    runPolicy={"cleanPodPolicy": "All"},
    worker={
        "replicas": 2,
        "template": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {
                "containers": [
                    {
                        "name": "w",
                        "env": [{"name": "A", "value": "1"}],
                        "volumeMounts": [{"name": "v", "mountPath": "/v"}],
                        "resources": {"limits": {"nvidia.com/gpu": 1, "memory": "1Gi"}},
                    }
                ],
                "tolerations": [{"key": "k"}],
                "nodeSelector": {"disk": "ssd"},
                "terminationGracePeriodSeconds": 9,
            },
        },
    },
)


@pytest.mark.acceptance(7)
@given(place=st.sampled_from(places(FULL)), value=anything)
def test_no_slip_anywhere_is_more_than_a_refusal(place: tuple[Any, ...], value: Any) -> None:
    """Whatever stands wherever: either a pod can be built from it, or it is refused."""
    written: Any = {"root": copy.deepcopy(FULL)}
    at: Any = written
    path = ("root", *place)
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    with contextlib.suppress(JobError):
        job = parse_job(written["root"])
        assert build_pod(job, 0, None, CLUSTER_COORDINATOR)["kind"] == "Pod"
