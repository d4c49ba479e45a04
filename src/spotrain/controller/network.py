"""A job's network policy: its workers may talk to each other, and nobody else to them.

Rendezvous stores and collectives know no passwords; whoever reaches a worker's port can take part
in the training. What workers reach out to is for the namespace's own policies to say, siblings
among it: a rule here would cut the workers of a namespace without any off from everything else.
"""

from typing import Any

from spotrain import contract
from spotrain.job import ElasticJob


def labels(job: ElasticJob) -> dict[str, str]:
    """What all of a job's pods have in common."""
    return {
        contract.LABEL_GROUP: contract.GROUP,
        contract.LABEL_JOB: job.name,
        contract.LABEL_REPLICA_TYPE: contract.WORKER.lower(),
    }


def owner(job: ElasticJob) -> dict[str, Any]:
    """The garbage collector removes what names this owner; no finalizer is ever needed."""
    return {
        "apiVersion": contract.API_VERSION,
        "kind": contract.KIND,
        "name": job.name,
        "uid": job.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def metadata(job: ElasticJob) -> dict[str, Any]:
    """Of an object that the job has one of: found by its labels, and gone when the job is."""
    return {
        "name": job.name,
        "namespace": job.namespace,
        "labels": labels(job),
        "ownerReferences": [owner(job)],
    }


def build_network_policy(job: ElasticJob) -> dict[str, Any]:
    siblings = {"matchLabels": labels(job)}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": metadata(job),
        "spec": {
            "podSelector": siblings,
            "policyTypes": ["Ingress"],
            "ingress": [{"from": [{"podSelector": siblings}]}],
        },
    }
