"""A cluster on paper: raw objects as the API server hands them out, and a controller beside them.

What the controller writes (the job's status, its events) is written by its own `reconcile`, from
the same objects that the explanation is then derived from.
"""

import copy
import re
from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import yaml

from spotrain import contract
from spotrain.controller.board import Board, Claim
from spotrain.controller.model import CLUSTER_COORDINATOR, JobStatus, Observed, WorldView
from spotrain.controller.observe import view_job, view_node, view_pod
from spotrain.controller.offers import list_offers
from spotrain.controller.pod import build_pod
from spotrain.controller.reconcile import reconcile
from spotrain.controller.refusal import refuse
from spotrain.controller.scale_ups import SOURCE, view_scale_up
from spotrain.explain import Explanation, Situation, explain
from spotrain.explain.autoscaler import CONFIGMAP, KEY, UPDATED
from spotrain.job import ElasticJob, JobError, parse_pools, worker_name

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
NAMESPACE = "jobs"
IMAGE = "registry.example/team/train:v3"
POOLS = """
- {name: t4-spot, gpu: t4, gpusPerNode: 1, capacity: spot, zones: [a, b], maxNodes: 8,
   instanceTypes: [g4dn.xlarge, g4dn.2xlarge], noticeSeconds: 90, spotUsdPerHour: 0.18,
   onDemandUsdPerHour: 0.53}
"""
NO_NODE = "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector."
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)")
Document = dict[str, Any]


def at(minutes: float) -> datetime:
    return NOON + timedelta(minutes=minutes)


def text(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def with_times_moved(situation: Situation, by: timedelta) -> dict[str, Any]:
    """The situation as a mapping in which every moment comes so much later."""

    def moved(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: moved(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [moved(item) for item in value]
        if isinstance(value, str) and MOMENT.fullmatch(value):
            return text(datetime.fromisoformat(value) + by)
        return value

    return {item.name: moved(getattr(situation, item.name)) for item in fields(situation)}


class Scene:
    """A job made at noon, of `replicas` workers; the clock stands at noon until `wait`."""

    def __init__(
        self,
        *,
        replicas: int = 4,
        least: int = 2,
        pools: str | None = POOLS,
        container: Mapping[str, Any] | None = None,
        pod_spec: Mapping[str, Any] | None = None,
        namespace: str = NAMESPACE,
        **spec: Any,
    ) -> None:
        self.now = NOON
        self.claims: tuple[Claim, ...] = ()
        """What other jobs hold."""
        self.max_gpus: int | None = None
        self.refusal = ""
        self.world: WorldView | None = None
        self.pods: list[Document] = []
        self.nodes: list[Document] = []
        self.events: list[Document] = []
        self.more: dict[str, Any] = {"controller": deployment(), "definition": {"metadata": {}}}
        """Of the situation, as it stands."""
        self.pools = pools
        resources = {"limits": {contract.GPU_RESOURCE: "1", "memory": "8Gi"}}
        trains = {"name": contract.WORKER_CONTAINER, "image": IMAGE, "resources": resources}
        template = {"spec": {"containers": [{**trains, **(container or {})}], **(pod_spec or {})}}
        worker = {"replicas": replicas, "template": template, **spec.pop("worker", {})}
        placement = {"placement": {"gpu": "t4"}} if pools is not None else {}
        self.job: Document = {
            "apiVersion": contract.API_VERSION,
            "kind": contract.KIND,
            "metadata": {
                "name": "digits",
                "namespace": namespace,
                "uid": "job-uid",
                "generation": 1,
                "resourceVersion": "1",
                "creationTimestamp": text(NOON),
            },
            "spec": {
                "minReplicas": least,
                "maxReplicas": replicas,
                **placement,
                **spec,
                "replicaSpecs": {contract.WORKER: worker},
            },
        }

    # --- What happens ------------------------------------------------------------------------
    def wait(self, minutes: float) -> "Scene":
        self.now += timedelta(minutes=minutes)
        return self

    def look(self) -> "Scene":
        """The controller looks at the job, writes its status, and tells of changes."""
        seen = view_job(self.job)
        assert seen is not None
        if isinstance(seen.job, JobError):
            plan = refuse(seen.job, seen.status, generation=1, now=self.now)
        else:
            observed = self._observed(seen.status)
            plan = reconcile(seen.job, observed, self.now)
        self.job["status"] = plan.status.to_document()
        for event in plan.events:
            self.event(event.reason, event.message, kind=contract.KIND, type=event.type)
        return self

    def create(self, *indexes: int, **status: Any) -> "Scene":
        """Pods as the controller builds them; `status` as the scheduler and the kubelet write."""
        for index in indexes or range(self.spec.replicas):
            offers = list_offers(self.spec, self._pools(), (), self.now)
            place = (self.job.get("status") or {}).get("offer") or {}
            here = [each for each in offers if each.zone == place.get("zone")]
            manifest = build_pod(
                self.spec, index, next(iter(here), None), CLUSTER_COORDINATOR, attempt=0
            )
            manifest["metadata"] |= {
                "uid": f"pod-{index}-{len(self.pods)}",
                "creationTimestamp": text(self.now),
            }
            self.pods.append({**manifest, "status": {"phase": "Pending", **status}})
        return self

    def stuck(self, *indexes: int, message: str = NO_NODE) -> "Scene":
        """The scheduler finds no node for them."""
        told = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
        for pod in self._chosen(indexes):
            pod["status"] |= {"conditions": [{**told, "message": message}]}
        return self

    def schedule(self, *indexes: int, **waiting: str) -> "Scene":
        """They get a node each; `waiting`: why their container does not start."""
        told = {"type": "PodScheduled", "status": "True", "lastTransitionTime": text(self.now)}
        state = {"waiting": waiting or {"reason": "ContainerCreating"}}
        for pod in self._chosen(indexes):
            pod["spec"]["nodeName"] = f"node-{pod['metadata']['labels']['replica-index']}"
            pod["status"] |= {"conditions": [told], "containerStatuses": [container(state)]}
        return self

    def run(self, *indexes: int) -> "Scene":
        self.schedule(*indexes)
        for pod in self._chosen(indexes):
            pod["status"]["phase"] = "Running"
            pod["status"]["conditions"] += [{"type": "Ready", "status": "True"}]
            pod["status"]["containerStatuses"] = [container({"running": {}})]
        return self

    def fail(
        self, *indexes: int, code: int = 1, reason: str = "Error", message: str = ""
    ) -> "Scene":
        ended = {"exitCode": code, "reason": reason, "message": message}
        for pod in self._chosen(indexes):
            pod["status"]["phase"] = "Failed"
            pod["status"]["conditions"] = pod["status"].get("conditions", [])[:1]
            state = {"terminated": {**ended, "finishedAt": text(self.now)}}
            pod["status"]["containerStatuses"] = [container(state)]
        return self

    def train(self, step: int, *, number: int = 1, size: int = 4) -> "Scene":
        self.world = WorldView(number, size, "running", since=self.now, step=step)
        return self

    def node(self, name: str, *, gpus: int = 1, ready: str = "True", zone: str = "a") -> "Scene":
        self.nodes.append(node(name, self.now, gpus=gpus, ready=ready, zone=zone))
        return self

    def event(
        self, reason: str, message: str, *, pod: int | None = None, **changed: Any
    ) -> "Scene":
        """Of the job; or of its pod of that index, told by the kubelet unless `source` says so."""
        name, uid, kind = "digits", "job-uid", contract.KIND
        if pod is not None:
            made = self._chosen((pod,))
            name, kind = worker_name("digits", pod), "Pod"
            uid = made[-1]["metadata"]["uid"] if made else "gone"
        source = changed.pop("source", "kubelet")
        about = {"kind": changed.pop("kind", kind), "name": name, "uid": uid}
        about["namespace"] = self.job["metadata"]["namespace"]
        self.events.append(
            {
                "metadata": {
                    "name": f"event-{len(self.events)}",
                    "creationTimestamp": text(self.now),
                },
                "involvedObject": about,
                "reason": reason,
                "message": message,
                "source": {"component": source},
                "firstTimestamp": text(self.now),
                "lastTimestamp": text(self.now),
                **changed,
            }
        )
        return self

    def autoscaler_says(self, reason: str, message: str) -> "Scene":
        """Of every pod that waits for a node."""
        for pod in self.pods:
            if "nodeName" not in pod["spec"]:
                index = int(pod["metadata"]["labels"]["replica-index"])
                self.event(reason, message, pod=index, source=SOURCE)
        return self

    def group(self, zone: str, *, named: str = "", **told: Any) -> "Scene":
        """The autoscaler's status tells of the pool's group in that zone."""
        groups = yaml.safe_load(self.more.get("autoscaler", {}).get("data", {}).get(KEY, "")) or {}
        listed = [
            *groups.get("nodeGroups", []),
            group(named or f"eks-pool-t4-spot-{zone}-0a1b-22cc", **told),
        ]
        self.more["autoscaler"] = autoscaler_status(listed, self.now)
        return self

    # --- What is read ------------------------------------------------------------------------
    @property
    def spec(self) -> ElasticJob:
        seen = view_job(self.job)
        assert seen is not None
        assert isinstance(seen.job, ElasticJob)
        return seen.job

    def situation(self, **changed: Any) -> Situation:
        pools = {contract.POOLS_KEY: self.pools} if self.pools is not None else {}
        return Situation(
            **{
                "now": self.now,
                "job": self.job,
                "pods": self.pods,
                "events": self.events,
                "nodes": self.nodes,
                "pools": {"data": pools},
                "prices": {"data": {}},
                **self.more,
                **changed,
            }
        )

    def explanation(self) -> Explanation:
        before = copy.deepcopy(self.situation())
        found = explain(self.situation())
        assert self.situation() == before, "explaining changes nothing"
        return found

    def _chosen(self, indexes: tuple[int, ...]) -> list[Document]:
        wanted = {str(index) for index in indexes or range(self.spec.replicas)}
        return [p for p in self.pods if p["metadata"]["labels"]["replica-index"] in wanted]

    def _pools(self) -> Any:
        return parse_pools(self.pools or "")

    def _observed(self, status: JobStatus) -> Observed:
        words = [
            w for e in self.events if e["source"]["component"] == SOURCE if (w := view_scale_up(e))
        ]
        views = [view for pod in self.pods if (view := view_pod(pod))]
        board = Board(
            claims=self.claims,
            since=NOON,
            max_gpus=self.max_gpus,
            refusal=self.refusal,
            scale_ups=dict(words),
        )
        return replace(
            Observed(),
            pods=tuple(view.view for view in views),
            nodes=tuple(map(view_node, self.nodes)),
            pools=self._pools(),
            world=self.world,
            status=status,
            board=board,
        )


def container(state: Document) -> Document:
    return {"name": contract.WORKER_CONTAINER, "state": state}


def node(
    name: str, made: datetime, *, gpus: int = 1, ready: str = "True", zone: str = "a"
) -> Document:
    labels = {contract.LABEL_POOL: "t4-spot", contract.LABEL_ZONE: zone}
    condition = {"type": "Ready", "status": ready, "lastTransitionTime": text(made)}
    return {
        "metadata": {"name": name, "labels": labels, "creationTimestamp": text(made)},
        "spec": {},
        "status": {
            "conditions": [condition],
            "allocatable": {contract.GPU_RESOURCE: str(gpus)} if gpus else {},
        },
    }


def deployment(ready: int = 2, *, namespace: str = "") -> Document:
    """The controller's."""
    env = [{"name": contract.ENV_JOB_NAMESPACE, "value": namespace}]
    pod = {"spec": {"containers": [{"name": "controller", "env": env}]}}
    status = {"readyReplicas": ready} if ready else {}
    return {"spec": {"replicas": 2, "template": pod}, "status": status}


def group(
    name: str, *, status: str = "NoActivity", code: str = "", error: str = "", most: int = 8
) -> Document:
    why = {"errorCode": code, "errorMessage": error} if code else {}
    moment = text(NOON)
    return {
        "name": name,
        "health": {"status": "Healthy", "cloudProviderTarget": 0, "minSize": 0, "maxSize": most},
        "scaleUp": {"status": status, "backoffInfo": why, "lastTransitionTime": moment},
    }


def autoscaler_status(groups: list[Document], told: datetime) -> Document:
    status = {"autoscalerStatus": "Running", "nodeGroups": groups}
    stamp = f"{told:%Y-%m-%d %H:%M:%S}.123456789 +0000 UTC"
    return {
        "metadata": {"name": CONFIGMAP, "annotations": {UPDATED: stamp}},
        "data": {KEY: yaml.safe_dump({"time": stamp, **status})},
    }
