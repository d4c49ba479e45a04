"""ElasticJobs as the API server would hand them out."""

from typing import Any

from spotrain import contract
from spotrain.kinds import Object


def job(name: str = "digits", *, status: Object | None = None, **spec: Any) -> Object:
    container = {"name": contract.WORKER_CONTAINER, "image": "none"}
    worker = {"replicas": 2, "template": {"spec": {"containers": [container]}}}
    return {
        "apiVersion": contract.API_VERSION,
        "kind": contract.KIND,
        "metadata": {
            "name": name,
            "namespace": "team",
            "uid": f"uid-of-{name}",
            "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "spec": {"replicaSpecs": {contract.WORKER: worker}, **spec},
        "status": status or {},
    }
