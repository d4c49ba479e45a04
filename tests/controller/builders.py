"""Small builders: a job, pods, pools and an observation, each with one dull default."""

import itertools
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from spotrain.controller.model import (
    CLUSTER_COORDINATOR,
    ApplyDisruptionBudget,
    BudgetView,
    CreatePod,
    DeleteDisruptionBudget,
    DeletePod,
    NodeView,
    Observed,
    Plan,
    PodView,
    RestartWorld,
    WorldView,
)
from spotrain.controller.pod import build_pod
from spotrain.controller.reconcile import reconcile
from spotrain.controller.status import JobStatus
from spotrain.job import ElasticJob, Offer, Pool, parse_job

NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
LONG_AGO = NOW - timedelta(hours=1)
_births = itertools.count()


def after(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def document(**spec: Any) -> dict[str, Any]:
    """An ElasticJob of three workers; `worker` and `template` reach into its one replica spec."""
    worker = {
        "replicas": 3,
        "template": {"spec": {"containers": [{"name": "elasticjob-worker", "image": "img"}]}},
        **spec.pop("worker", {}),
    }
    return {
        "apiVersion": "elastic.pytorch.org/v1alpha1",
        "kind": "ElasticJob",
        "metadata": {
            "name": "digits",
            "namespace": "jobs",
            "uid": "job-uid",
            "generation": 1,
            "creationTimestamp": LONG_AGO.isoformat(),
        },
        "spec": {
            "minReplicas": 1,
            "maxReplicas": 3,
            **spec,
            "replicaSpecs": {"Worker": worker},
        },
    }


def job(**spec: Any) -> ElasticJob:
    return parse_job(document(**spec))


def pod(index: int, phase: Any = "Running", **changes: Any) -> PodView:
    view = PodView(
        name=f"digits-worker-{index}",
        uid=f"uid-{index}",
        index=index,
        phase=phase,
        node="node-1",
        ready=phase == "Running",
        deleting=False,
        exit_code={"Succeeded": 0, "Failed": 1}.get(phase),
        reason="",
        disrupted=False,
        message="",
        created_at=LONG_AGO,
        unschedulable="",
    )
    return replace(view, **changes)


def node(name: str, **changes: Any) -> NodeView:
    return replace(NodeView(name, "t4-spot", "a", ready=True, cordoned=False), **changes)


def pool(name: str = "t4-spot", **changes: Any) -> Pool:
    values: dict[str, Any] = {
        "name": name,
        "gpu": "t4",
        "gpus_per_node": 1,
        "capacity": "spot",
        "zones": ("a", "b"),
        "instance_types": ("g4dn.xlarge", "g4dn.2xlarge"),
        "max_nodes": 8,
        "notice_seconds": 90,
        "spot_usd_per_hour": 0.18,
        "on_demand_usd_per_hour": 0.53,
    }
    return Pool(**values | changes)


def world(number: int = 1, size: int = 3, **changes: Any) -> WorldView:
    return replace(WorldView(number, size, "running", since=LONG_AGO, step=100), **changes)


def seen(*pods: PodView, **changes: Any) -> Observed:
    return replace(Observed(pods=pods), **changes)


def applied(observed: Observed, plan: Plan, now: datetime = NOW) -> Observed:
    """The cluster right after a plan: new pods wait, removed ones are on their way out."""
    removed = {action.uid for action in plan.actions if isinstance(action, DeletePod)}
    kept = [replace(p, deleting=True) if p.uid in removed else p for p in observed.pods]
    new = [
        pod(
            action.index,
            "Pending",
            uid=f"born-{next(_births)}",
            node=None,
            created_at=now,
        )
        for action in plan.actions
        if isinstance(action, CreatePod)
    ]
    world, budget = observed.world, observed.disruption_budget
    for action in plan.actions:
        if isinstance(action, RestartWorld) and world and world.number == action.number:
            world = replace(world, phase="waiting", size=0, restarts=world.restarts + 1)
        if isinstance(action, ApplyDisruptionBudget):
            budget = BudgetView("budget-uid", action.manifest["spec"]["minAvailable"])
        if isinstance(action, DeleteDisruptionBudget):
            budget = None
    return replace(
        observed,
        pods=tuple(kept + new),
        status=plan.status,
        world=world,
        disruption_budget=budget,
    )


def cleared(observed: Observed) -> Observed:
    """Pods on their way out have left."""
    return replace(observed, pods=tuple(p for p in observed.pods if not p.deleting))


def changed(observed: Observed, index: int, **changes: Any) -> Observed:
    """One pod looks different now."""
    pods = tuple(replace(p, **changes) if p.index == index else p for p in observed.pods)
    return replace(observed, pods=pods)


def started(this: ElasticJob, **changes: Any) -> Observed:
    """A job all of whose workers are ready, and that knows it."""
    everyone = seen(*(pod(index) for index in range(this.replicas)), **changes)
    plan = reconcile(this, everyone, LONG_AGO)
    return replace(everyone, status=plan.status)


def created(plan: Plan) -> list[int]:
    return [action.index for action in plan.actions if isinstance(action, CreatePod)]


def deleted(plan: Plan) -> list[str]:
    return [action.name for action in plan.actions if isinstance(action, DeletePod)]


def reasons(plan: Plan) -> list[str]:
    return [event.reason for event in plan.events]


def truths(status: JobStatus) -> dict[str, str]:
    """Condition -> reason, of those that hold."""
    return {c.type: c.reason for c in status.conditions if c.status == "True"}


OFFER = Offer(pool(), "a")


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
