"""For each item a change of the source that takes its promise away; its tests must notice."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

RECORD: Final = Path(__file__).with_name("record.json")
"""Digest of each mutation -> the test that failed when it was tried."""
CONTROLLER: Final = "src/spotrain/controller"
CRD: Final = "k8s/crd.yaml"


@dataclass(frozen=True, kw_only=True)
class Mutation:
    items: tuple[int, ...]
    what: str
    file: str
    old: str
    """Occurs once in the file."""
    new: str
    cluster: bool = False
    """Only a real API server notices."""

    @property
    def digest(self) -> str:
        text = "\0".join((str(self.items), self.file, self.old, self.new))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def applies_to(self, text: str) -> bool:
        return text.count(self.old) == 1

    def apply(self, text: str) -> str:
        """Raises ValueError where the source has changed under the mutation."""
        if not self.applies_to(text):
            raise ValueError(f"{self.file} has {self.old!r} {text.count(self.old)} times, not once")
        return text.replace(self.old, self.new)


def read_record() -> dict[str, str]:
    found: dict[str, str] = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    return found


def _in(module: str, *items: int, what: str, old: str, new: str) -> Mutation:
    return Mutation(items=items, what=what, file=f"{CONTROLLER}/{module}.py", old=old, new=new)


MUTATIONS: Final = (
    Mutation(
        items=(1,),
        what="the template may hold known fields only",
        file=CRD,
        old="                          required: [spec]\n"
        "                          x-kubernetes-preserve-unknown-fields: true\n",
        new="                          required: [spec]\n",
    ),
    _in(
        "network",
        2,
        what="another case of the replica type",
        old="contract.LABEL_REPLICA_TYPE: contract.WORKER.lower()",
        new="contract.LABEL_REPLICA_TYPE: contract.WORKER",
    ),
    Mutation(
        items=(2,),
        what="names of any length",
        file="src/spotrain/job/rules.py",
        old="    if excess > 0:\n",
        new="    if excess > 9:\n",
    ),
    _in(
        "environment",
        3,
        what="agents get no address",
        old="        _pod_ip(contract.ENV_ADDRESS),\n",
        new="",
    ),
    Mutation(
        items=(4,),
        what="the first container gets the settings",
        file="src/spotrain/job/template.py",
        old="return names.index(contract.WORKER_CONTAINER) "
        "if contract.WORKER_CONTAINER in names else 0",
        new="return 0",
    ),
    _in(
        "environment",
        4,
        what="ours wins over the user's",
        old='variable["name"] not in taken] + list(theirs)',
        new='variable["name"]] + list(theirs)[:0]',
    ),
    _in(
        "environment",
        5,
        what="another backend than upstream's",
        old='_value("PET_RDZV_BACKEND", "etcd")',
        new='_value("PET_RDZV_BACKEND", "c10d")',
    ),
    Mutation(
        items=(6,),
        what="Kubeflow's spelling is ignored",
        file="src/spotrain/job/rules.py",
        old='        "spec.runPolicy": spec.run_policy,\n',
        new="",
    ),
    Mutation(
        items=(7,),
        what="another default of restartPolicy",
        file="src/spotrain/job/spec.py",
        old='restart_policy: RestartPolicy = "ExitCode"',
        new='restart_policy: RestartPolicy = "Always"',
    ),
    Mutation(
        items=(8,),
        what="min may be above max",
        file="src/spotrain/job/rules.py",
        old="    if low > high:\n",
        new="    if low > high + 999:\n",
    ),
    Mutation(
        items=(8,),
        what="templates change under running workers",
        file=CRD,
        old="self.suspend || oldSelf.suspend || (self.replicaSpecs.Worker.template ==",
        new="true || self.suspend || oldSelf.suspend || (self.replicaSpecs.Worker.template ==",
        cluster=True,
    ),
    Mutation(
        items=(8,),
        what="ended jobs may change",
        file=CRD,
        old="!has(oldSelf.status) || !has(oldSelf.status.conditions) ||",
        new="true || !has(oldSelf.status) || !has(oldSelf.status.conditions) ||",
        cluster=True,
    ),
    _in(
        "conditions",
        9,
        what="every write is a transition",
        old="old.last_transition_time if old and old.status == new.status else now",
        new="now",
    ),
    _in(
        "records",
        10,
        what="no observed generation",
        old="        observed_generation=job.generation,\n",
        new="",
    ),
    _in(
        "health",
        11,
        what="pods are enough, ready or not",
        old="    if workers.ready >= least(job, observed.pods):\n",
        new="    if workers.active >= least(job, observed.pods):\n",
    ),
    _in(
        "completion",
        12,
        what="a failure after the first success counts",
        old='(job.replicas if job.success_policy == "AllWorkers" else 1)',
        new="job.replicas",
    ),
    _in(
        "completion",
        12,
        what="one success is always enough",
        old='(job.replicas if job.success_policy == "AllWorkers" else 1)',
        new="1",
    ),
    _in(
        "failure",
        13,
        what="every failed pod is a failure",
        old="    return all(pod.created_at <= last.at for pod in pods)\n",
        new="    return False\n",
    ),
    _in(
        "failure",
        13,
        what="pauses do not grow",
        old="FIRST_PAUSE_SECONDS * 2**doublings",
        new="FIRST_PAUSE_SECONDS + 0 * doublings",
    ),
    _in(
        "disruption",
        14,
        what="no exit code is excused",
        old="    if pod.exit_code in job.disruption_exit_codes:\n        return True\n",
        new="",
    ),
    _in(
        "disruption",
        15,
        what="peers fail for themselves",
        old="    return -CLOCK_SECONDS <= after <= CASCADE_SECONDS\n",
        new="    return False\n",
    ),
    _in(
        "completion",
        16,
        what="a failure beyond the limit ends the job, whoever is left",
        old=" and job.replicas - len(failures.waiting) < job.min_replicas",
        new="",
    ),
    _in(
        "patience",
        16,
        what="patience has no end",
        old="    if seconds is None or job.suspend",
        new="    if True or seconds is None or job.suspend",
    ),
    _in(
        "disruption",
        17,
        what="evicted pods have failed",
        old="    if pod.disrupted or pod.reason in NODE_REASONS:\n        return True\n",
        new="",
    ),
    _in(
        "silence",
        18,
        what="stuck pods are waited for",
        old="        stuck = pod.delete_by + timedelta(seconds=FORCE_AFTER_SECONDS)\n",
        new="        stuck = None\n",
    ),
    _in(
        "drains",
        19,
        what="notices are not read",
        old="    return is_known and taint.effect in KEEPS_OFF\n",
        new="    return False\n",
    ),
    Mutation(
        items=(20,),
        what="a notice stops no world, so that nobody saves",
        file="src/spotrain/worlds/forming.py",
        old="        return _drain(state, Reason.NOTICE, now)\n",
        new="        return state, []\n",
    ),
    Mutation(
        items=(21,),
        what="survivors wait in a broken world",
        file="src/spotrain/worlds/changes.py",
        old="        commands.append(Restart(world=state.world.number, ids=ids))\n",
        new="",
    ),
    Mutation(
        items=(22,),
        what="a coordinator that comes back adopts no world",
        file="src/spotrain/worlds/forming.py",
        old="            if is_over or is_whole or now >= since + state.limits.return_seconds:\n",
        new="            if False:\n",
    ),
    _in(
        "evictions",
        23,
        what="no budget is made",
        old="    if job.pod_disruption_budget and trains:\n",
        new="    if job.pod_disruption_budget and trains and there:\n",
    ),
    _in(
        "evictions",
        23,
        what="the budget outlives the training",
        old=" if there else ()\n",
        new=" if there and not job.pod_disruption_budget else ()\n",
    ),
    _in(
        "stall",
        24,
        what="nobody looks at the clock",
        old="    if now < due:\n",
        new="    if True:\n",
    ),
    Mutation(
        items=(25,),
        what="any number is taken",
        file="src/spotrain/job/rules.py",
        old="return min(max(spec.replica_specs.worker.replicas, least(spec)), largest(spec))",
        new="return spec.replica_specs.worker.replicas",
    ),
    Mutation(
        items=(25,),
        what="scaling beyond the limits is refused",
        file=CRD,
        old="oldSelf.hasValue() || ((!has(self.minReplicas) ||",
        new="(oldSelf.hasValue() && false) || ((!has(self.minReplicas) ||",
        cluster=True,
    ),
    _in(
        "replicas",
        26,
        what="the highest index leaves, whatever it is worth",
        old='        pod.phase != "Failed",\n        pod.node is not None,\n        pod.ready,\n',
        new="",
    ),
    _in(
        "replicas",
        27,
        what="pods on their way out are not counted",
        old="    room = wanted - len(observed.pods)\n",
        new="    room = wanted - len(staying)\n",
    ),
    Mutation(
        items=(28,),
        what="the first world waits for everybody",
        file="src/spotrain/worlds/forming.py",
        old="if is_worth_waiting(state, candidates) and now < since + state.limits.gather_seconds:",
        new="if is_worth_waiting(state, candidates):",
    ),
    _in(
        "reconcile",
        29,
        what="suspension is ignored",
        old="return _suspend(case) if job.suspend else _train(case)",
        new="return _train(case)",
    ),
    _in(
        "reconcile",
        30,
        what="jobs that others manage are ours too",
        old="    if job.managed_by not in OURS:\n",
        new="    if False:\n",
    ),
    _in(
        "pod",
        30,
        what="pods know nothing of their queue",
        old="{**queues, **(metadata",
        new="{**(metadata",
    ),
    _in(
        "gang",
        31,
        what="gangs of all replicas",
        old='    spec = {"minMember": job.min_replicas}\n',
        new='    spec = {"minMember": job.replicas}\n',
    ),
    _in(
        "gang",
        31,
        what="groups are made where nobody knows them",
        old='    return wanted if wanted in observed.gang_apis else ""\n',
        new="    return wanted\n",
    ),
    _in(
        "pod",
        33,
        what="the template's priority is lost",
        old="    grace_seconds = _set_grace(spec, offer)\n",
        new="    grace_seconds = _set_grace(spec, offer)\n"
        '    spec.pop("priorityClassName", None)\n',
    ),
    _in(
        "cleanup",
        34,
        what="All keeps what has finished",
        old='    if job.run_policy.clean_pod_policy == "All":\n',
        new="    if False:\n",
    ),
    _in(
        "cleanup",
        35,
        what="jobs live for ever",
        old="    if expires_at and expires_at <= now:\n",
        new="    if False:\n",
    ),
    _in(
        "completion",
        35,
        what="deadlines are not met",
        old="    if end and end <= now:\n",
        new="    if False:\n",
    ),
    _in(
        "pod",
        36,
        what="pods have a finalizer",
        old='    metadata["ownerReferences"] = [owner(job)]\n',
        new='    metadata["ownerReferences"] = [owner(job)]\n'
        '    metadata["finalizers"] = ["spotrain.dev/pod"]\n',
    ),
    _in(
        "observe",
        37,
        what="a namesake's pods are adopted",
        old=" and pod.owner == seen.uid)",
        new=")",
    ),
    _in(
        "election",
        38,
        what="anybody takes the lease",
        old="    if lease.holder and now < over_at:\n",
        new="    if False:\n",
    ),
    Mutation(
        items=(39,),
        what="the controller may read every secret of its namespace",
        file="k8s/rbac.yaml",
        old="    resourceNames: [spotrain-coordinator-tls]\n",
        new="",
    ),
    Mutation(
        items=(40,),
        what="a column is missing",
        file=CRD,
        old="        - {name: State, type: string, jsonPath: .status.state}\n",
        new="",
    ),
    _in(
        "replicas",
        28,
        what="no worker beyond minReplicas is asked for",
        old="wanted = int(min(job.replicas, limit + len(done(observed.pods))))",
        new="wanted = int(min(job.min_replicas, limit + len(done(observed.pods))))",
    ),
    _in(
        "pod",
        32,
        what="workers go to any zone of their pool",
        old="        place[contract.LABEL_ZONE] = offer.zone\n",
        new="        pass\n",
    ),
    _in(
        "presence",
        32,
        what="workers of a place that was left stay there",
        old='return [pod for pod in living if pod.place not in ("", offer.place)]',
        new="return []",
    ),
    _in(
        "nearness",
        32,
        what="workers without a place insist on one zone",
        old='"preferredDuringSchedulingIgnoredDuringExecution"',
        new='"requiredDuringSchedulingIgnoredDuringExecution"',
    ),
)
