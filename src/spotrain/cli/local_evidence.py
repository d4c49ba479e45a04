"""What there is on this machine of jobs, pools, nodes and pods, as a cluster would tell of it."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

import yaml

from spotrain import contract
from spotrain.cli.local_jobs import LocalJobs, usable
from spotrain.explain import Explanation, Situation
from spotrain.job import Pool
from spotrain.kinds import Object
from spotrain.local.job_files import NO_OBJECTS, JobFiles, Objects
from spotrain.local.shelf import Shelf, StoredJob


def gather_local(shelf: Shelf, name: str, *, now: datetime) -> Situation:
    """Raises NotThere; UserError where a file of the job is spoilt."""
    job = LocalJobs(shelf).get(name)
    stored = shelf.find(name)
    with usable():
        pools = stored.pools()
    found = objects_of(stored)
    version = {"resourceVersion": str(job["metadata"].get("generation", 0))}
    return Situation(
        now=now,
        job={**job, "metadata": {**job["metadata"], **version}},
        pods=found["pods"],
        events=found["events"],
        nodes=found["nodes"],
        pools=pools_object(pools),
        is_local=True,
    )


def objects_of(stored: StoredJob) -> Objects:
    """When nobody runs the job, its pods and nodes are gone; what was said of them stays said.

    Raises UserError where the file of them is spoilt.
    """
    is_run = stored.is_run
    with usable():
        found = JobFiles(stored.folder).read_objects()
    return found if is_run else {**NO_OBJECTS, "events": found["events"]}


def pools_object(pools: tuple[Pool, ...]) -> Object:
    """The ConfigMap that a stack would have written."""
    told = [pool.model_dump(mode="json", by_alias=True, exclude_none=True) for pool in pools]
    return {"data": {contract.POOLS_KEY: yaml.safe_dump(told)}}


def all_nodes_and_pods(shelf: Shelf) -> tuple[list[Object], list[Object]]:
    """Of all jobs. Each counts its nodes from 1, so here they are called after it, too."""
    nodes: list[Object] = []
    pods: list[Object] = []
    for stored in shelf.jobs():
        found = objects_of(stored)
        for node in found["nodes"]:
            called = {**node["metadata"], "name": f"{stored.name}/{node['metadata']['name']}"}
            nodes.append({**node, "metadata": called})
        for pod in found["pods"]:
            if place := pod["spec"].get("nodeName"):
                pods.append({**pod, "spec": {**pod["spec"], "nodeName": f"{stored.name}/{place}"}})
    return nodes, pods


def local_pools(shelf: Shelf) -> Iterator[Pool]:
    """Of all jobs, each with as many nodes as its jobs may have here. Raises UserError."""
    most: dict[str, int] = {}
    for stored in shelf.jobs():
        with usable():
            pools, machines = stored.pools(), stored.settings().machines
        for pool in pools:
            most[pool.name] = most.get(pool.name, 0) + machines
    for pool in shelf.pools():
        yield pool.model_copy(update={"max_nodes": min(pool.max_nodes, most[pool.name])})


def here(found: Explanation) -> Explanation:
    """With commands for the jobs of this machine."""
    causes = tuple(
        replace(cause, command=_here(cause.command, found.job)) for cause in found.causes
    )
    return replace(found, causes=causes, next_command=causes[0].command)


def _here(command: str, job: str) -> str:
    """What needs kubectl in a cluster is in the job's own description here."""
    if "kubectl " in command:
        return f"spotrain describe {job} --local"
    return command if "--help" in command else f"{command} --local"
