"""What the cluster holds of a job: the objects from which `explain` derives why it is as it is."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from spotrain import contract, kinds
from spotrain.cli.cluster import Cluster
from spotrain.cli.cluster_jobs import ClusterJobs
from spotrain.cli.refusals import NotAllowed, NotThere
from spotrain.explain import Situation
from spotrain.explain.autoscaler import CONFIGMAP, NAMESPACE
from spotrain.explain.situation import MISSING, Object
from spotrain.kinds import Kind

SYSTEM: Final = contract.SYSTEM_NAMESPACE
DEFINITION: Final = f"{contract.PLURAL}.{contract.GROUP}"


def gather(cluster: Cluster, name: str, *, now: datetime) -> Situation:
    """Raises UserError: no such job, or no cluster. What this person may not read is left out, and
    named in `unseen`."""
    job = ClusterJobs(cluster).get(name)
    unseen: dict[str, str] = {}

    def one(what: str, kind: Kind, name: str, namespace: str = "") -> Object | None:
        try:
            return cluster.get(kind, name, namespace=namespace)
        except NotThere:
            return MISSING
        except NotAllowed as error:
            unseen[what] = error.message
            return None

    def several(what: str, ask: Callable[[], Sequence[Object]]) -> Sequence[Object] | None:
        try:
            return ask()
        except NotAllowed as error:
            unseen[what] = error.message
            return None

    labels = f"{contract.LABEL_JOB}={name}"
    pods = several("pods", lambda: cluster.list_all(kinds.PODS, labels=labels))
    events = several("events", lambda: cluster.list_all(kinds.EVENTS))
    nodes = several("nodes", lambda: cluster.list_all(kinds.NODES, namespace=""))
    quotas = several("quotas", lambda: cluster.list_all(kinds.RESOURCE_QUOTAS))
    return Situation(
        now=now,
        job=job,
        pods=pods or (),
        events=events or (),
        nodes=nodes or (),
        quotas=quotas or (),
        claims=several("claims", lambda: cluster.list_all(kinds.CLAIMS)),
        pools=one("pools", kinds.CONFIG_MAPS, contract.POOLS_CONFIGMAP, SYSTEM),
        prices=one("prices", kinds.CONFIG_MAPS, contract.PRICES_CONFIGMAP, SYSTEM),
        definition=one("the job's definition", kinds.DEFINITIONS, DEFINITION),
        controller=one("the controller", kinds.DEPLOYMENTS, contract.CONTROLLER_NAME, SYSTEM),
        autoscaler=one("the autoscaler's status", kinds.CONFIG_MAPS, CONFIGMAP, NAMESPACE),
        unseen=unseen,
    )
