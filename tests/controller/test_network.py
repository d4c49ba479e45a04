"""Who may talk to a job's workers."""

import warnings

from spotrain.controller.model import ApplyNetworkPolicy, CreatePod
from spotrain.controller.network import build_network_policy
from spotrain.controller.reconcile import reconcile
from tests.controller.builders import NOW, job, seen, started

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import kubernetes_validate


def test_siblings_may_talk_to_each_other_and_nobody_else_to_them() -> None:
    policy = build_network_policy(job())
    siblings = {
        "matchLabels": {
            "group-name": "elastic.pytorch.org",
            "job-name": "digits",
            "replica-type": "worker",
        }
    }
    assert policy["spec"] == {
        "podSelector": siblings,
        "policyTypes": ["Ingress"],
        "ingress": [{"from": [{"podSelector": siblings}]}],
    }
    assert policy["metadata"]["ownerReferences"][0]["uid"] == "job-uid"
    kubernetes_validate.validate(policy, "1.36", strict=True)


def test_the_policy_stands_before_the_first_worker() -> None:
    kinds = [type(action) for action in reconcile(job(), seen(), NOW).actions]
    assert kinds == [ApplyNetworkPolicy, CreatePod, CreatePod, CreatePod]


def test_a_job_that_is_complete_does_not_assert_its_policy_over_and_over() -> None:
    assert reconcile(job(), started(job()), NOW).actions == ()


def test_every_worker_carries_the_labels_that_the_policy_selects() -> None:
    actions = reconcile(job(), seen(), NOW).actions
    wanted = build_network_policy(job())["spec"]["podSelector"]["matchLabels"].items()
    for action in actions:
        if isinstance(action, CreatePod):
            assert wanted <= action.manifest["metadata"]["labels"].items()
