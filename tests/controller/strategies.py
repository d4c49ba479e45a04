"""Any small job in any small cluster, with any past."""

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from spotrain.controller.model import BudgetView, Observed, Taint
from spotrain.controller.reconcile import reconcile
from spotrain.job import ElasticJob
from tests.controller.builders import after, job, node, pod, pool, seen, world


@st.composite
def jobs(draw: st.DrawFn) -> ElasticJob:
    least = draw(st.integers(1, 4))
    most = draw(st.integers(least, 6))
    spec: dict[str, Any] = {
        "minReplicas": least,
        "maxReplicas": most,
        "suspend": draw(st.sampled_from([False, False, False, True])),
        "cleanPodPolicy": draw(st.sampled_from(["All", "Running", "None"])),
        "backoffLimit": draw(st.integers(0, 3)),
        "worker": {
            "replicas": draw(st.integers(least, most)),
            "restartPolicy": draw(st.sampled_from(["ExitCode", "Never", "OnFailure", "Always"])),
        },
    }
    if least == most:
        spec["successPolicy"] = draw(st.sampled_from(["AnyWorker", "AllWorkers"]))
    spec["podDisruptionBudget"] = draw(st.booleans())
    spec["rdzvEndpoint"] = draw(st.sampled_from(["", "", "etcd:2379"]))
    spec["elastic"] = {
        "progressDeadlineSeconds": draw(st.sampled_from([0, 60, 900])),
        "firstStepDeadlineSeconds": draw(st.sampled_from([0, 60, 3600])),
    }
    if draw(st.booleans()):
        spec["elastic"]["minReplicasTimeoutSeconds"] = draw(st.sampled_from([30, 86400]))
    if draw(st.booleans()):
        spec["placement"] = {"gpu": draw(st.sampled_from(["t4", "v100"]))}
    if draw(st.booleans()):
        spec["budget"] = {"maxDollars": draw(st.sampled_from([1e-6, 1e-3, 1e6]))}
    if draw(st.booleans()):
        spec["ttlSecondsAfterFinished"] = draw(st.sampled_from([0, 60]))
    if draw(st.booleans()):
        spec["activeDeadlineSeconds"] = draw(st.sampled_from([60, 86400]))
    return job(**spec)


pods = st.builds(
    lambda index, phase, node_name, ready, deleting, code, reason, disrupted, age, cost, made: pod(
        index,
        phase,
        node=node_name,
        ready=ready and phase == "Running",
        deleting=deleting,
        exit_code={"Succeeded": 0, "Failed": code}.get(phase),
        reason=reason if phase == "Failed" else "",
        disrupted=disrupted,
        created_at=after(-age),
        scheduled_at=after(-age) if node_name else None,
        gpus=1,
        deletion_cost=cost,
        unschedulable="" if node_name else "no node",
        ended_at=after(-age) if phase in ("Failed", "Succeeded") else None,
        made_of=made,
    ),
    st.integers(0, 7),
    st.sampled_from(["Pending", "Running", "Running", "Running", "Failed", "Failed", "Succeeded"]),
    st.sampled_from(["node-1", "cordoned", "lost", "going", None]),
    st.booleans(),
    st.sampled_from([False, False, True]),
    st.sampled_from([None, 1, 2, 137, 143]),
    st.sampled_from(["", "Error", "Evicted", "OOMKilled"]),
    st.booleans(),
    st.sampled_from([0, 4, 30, 3600]),
    st.integers(-1, 1),
    st.sampled_from(["", "", "of-another-spec"]),
)
GOING = node("going", taints=(Taint("spotrain.dev/leaving", "", "NoSchedule"),))
clusters = st.builds(
    lambda these, worlds, pools, budget: seen(
        *these,
        nodes=(node("node-1"), node("cordoned", cordoned=True), GOING),
        world=worlds,
        pools=pools,
        disruption_budget=budget,
    ),
    st.lists(pods, max_size=7, unique_by=lambda p: p.index),
    st.none()
    | st.builds(
        lambda number, size, outcome: world(number, size, outcome=outcome),
        st.integers(1, 9),
        st.integers(0, 6),
        st.sampled_from([None, None, None, "succeeded", "failed"]),
    ),
    st.sampled_from([(), (pool(),)]),
    st.sampled_from([None, BudgetView("budget-uid", 2)]),
)


@st.composite
def histories(draw: st.DrawFn) -> tuple[ElasticJob, Observed]:
    """A job and a cluster, whose status another cluster and another wish may have left behind."""
    this, observed = draw(jobs()), draw(clusters)
    if draw(st.booleans()):
        before = reconcile(draw(jobs()), draw(clusters), after(-draw(st.integers(0, 90))))
        observed = replace(observed, status=before.status)
    return this, observed
