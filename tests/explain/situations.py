"""The table of situations: what the cluster holds, what is derived from it, and what to do next.

docs/troubleshooting.md shows it to people. A row's name says what a person has met; nothing that is
explained knows of it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from spotrain import contract
from spotrain.controller.board import Claim
from spotrain.controller.model import StalledWorld
from spotrain.explain.situation import MISSING
from spotrain.worlds import Reason
from spotrain.worlds.history import Chapter
from tests.explain.scene import NOON, POOLS, Scene, at, container, deployment, text

NOT_TRIGGERED: Final = "NotTriggerScaleUp"
BACKOFF: Final = "pod didn't trigger scale-up: 1 in backoff after failed scale-up"
NO_MATCH: Final = "3 node(s) didn't match Pod's node affinity/selector"
FULL: Final = f"pod didn't trigger scale-up: 1 max node group size reached, {NO_MATCH}"
NO_SPOT: Final = "AWS cannot provision any more instances for this node group"


@dataclass(frozen=True)
class Row:
    name: str
    scene: Callable[[], Scene]
    reasons: tuple[str, ...]
    """The gravest first."""
    says: tuple[str, ...]
    next: str


ROWS: list[Row] = []


def situation(
    name: str, *reasons: str, says: tuple[str, ...] = (), next: str
) -> Callable[[Callable[[], Scene]], Callable[[], Scene]]:
    def add(scene: Callable[[], Scene]) -> Callable[[], Scene]:
        ROWS.append(Row(name, scene, reasons, says, next))
        return scene

    return add


def homeless(**options: object) -> Scene:
    """Its workers wait for a node since noon."""
    return Scene(**options).look().create().stuck().look()  # type: ignore[arg-type]


def running(**options: object) -> Scene:
    """Four workers have trained for five minutes, to step 100."""
    scene = Scene(**options).look().create().run().train(1).look()  # type: ignore[arg-type]
    return scene.wait(5).train(100).look()


STATUS: Final = "spotrain status digits"
LOGS: Final = "spotrain logs digits"
WORKER: Final = f"{LOGS} --worker 0"
EDIT: Final = (
    "spotrain stop digits && kubectl -n jobs edit elasticjob digits && spotrain resume digits"
)
AFFORD: Final = "spotrain resume digits --budget USD"


# --- Nobody is there ------------------------------------------------------------------------------
@situation("the platform is not installed", "NotInstalled", next="kubectl config get-contexts")
def _() -> Scene:
    scene = Scene()
    scene.more["definition"] = MISSING
    return scene


@situation(
    "the controller does not run",
    "ControllerNotRunning",
    says=("nobody takes care of any job",),
    next="kubectl -n spotrain-system describe deployment spotrain-controller",
)
def _() -> Scene:
    scene = Scene().wait(5)
    scene.more["controller"] = deployment(ready=0)
    return scene


@situation(
    "the controller is away while the job trains",
    "CoordinatorAway",
    "Training",
    says=("Training goes on without them", "world 1 of 4 workers"),
    next="kubectl -n spotrain-system describe deployment spotrain-controller",
)
def _() -> Scene:
    scene = running()
    scene.more["controller"] = deployment(ready=0)
    return scene


@situation(
    "the controller runs and has not looked at the job",
    "NotTakenUp",
    says=("made at 12:00:00 UTC",),
    next="kubectl -n spotrain-system describe deployment spotrain-controller",
)
def _() -> Scene:
    return Scene().wait(5)


@situation("the job was made a moment ago", "JustMade", next=STATUS)
def _() -> Scene:
    return Scene().wait(0.1)


@situation(
    "the job is in a namespace at which nobody looks",
    "NamespaceNotWatched",
    says=("in the namespace elastic-job only", "this one is in jobs"),
    next="spotrain list --namespace elastic-job",
)
def _() -> Scene:
    scene = Scene().wait(5)
    scene.more["controller"] = deployment(namespace="elastic-job")
    return scene


@situation(
    "the job is another controller's",
    "ManagedElsewhere",
    says=("kueue.x-k8s.io/multikueue",),
    next="kubectl -n jobs get elasticjob digits -o yaml",
)
def _() -> Scene:
    return Scene(managedBy="kueue.x-k8s.io/multikueue").look().wait(5)


# --- It cannot be used ----------------------------------------------------------------------------
@situation(
    "the spec cannot be used",
    "InvalidSpec",
    says=("moveAfterSeconds", "below the least"),
    next=EDIT,
)
def _() -> Scene:
    return Scene(placement={"moveAfterSeconds": 0}).look()


@situation(
    "no pool has this GPU",
    "UnknownGpu",
    says=("'h100'", "there are: t4"),
    next="spotrain gpus",
)
def _() -> Scene:
    return Scene(placement={"gpu": "h100"}).look()


@situation(
    "no pool is as large as the job",
    "NoRoom",
    says=("minReplicas is 9", "t4-spot has room for 8"),
    next="spotrain gpus",
)
def _() -> Scene:
    return Scene(replicas=9, least=9).look()


@situation("there are no pools", "NoPools", says=("spotrain-pools",), next="spotrain gpus")
def _() -> Scene:
    return Scene(pools="[]").look()


# --- It may not, or not yet -----------------------------------------------------------------------
def over_quota(asked: str, used: str, hard: str, **options: object) -> Scene:
    scene = Scene(**options).look()  # type: ignore[arg-type]
    scene.refusal = (
        'pods "digits-worker-0" is forbidden: exceeded quota: spotrain-normal, '
        f"requested: {asked}, used: {used}, limited: {hard}"
    )
    return scene.look()


@situation(
    "the namespace's GPU quota is used up",
    "QuotaExceeded",
    says=("spotrain-normal", "16 of 16 requests.nvidia.com/gpu are taken"),
    next="kubectl -n jobs describe resourcequota spotrain-normal",
)
def _() -> Scene:
    gpus = "requests.nvidia.com/gpu"
    return over_quota(f"{gpus}=1", f"{gpus}=16", f"{gpus}=16")


@situation(
    "the namespace's pod quota is used up",
    "QuotaExceeded",
    says=("10 of 10 pods are taken",),
    next="kubectl -n jobs describe resourcequota spotrain-normal",
)
def _() -> Scene:
    return over_quota("pods=1", "pods=10", "pods=10")


@situation(
    "the quota is smaller than the job",
    "QuotaTooLow",
    says=("allows 1 requests.nvidia.com/gpu", "2 times 1", "can never start"),
    next="kubectl -n jobs describe resourcequota spotrain-normal",
)
def _() -> Scene:
    gpus = "requests.nvidia.com/gpu"
    return over_quota(f"{gpus}=1", f"{gpus}=1", f"{gpus}=1")


@situation(
    "a policy refuses its pods",
    "FailedCreate",
    says=("violates PodSecurity", "hostNetwork"),
    next=EDIT,
)
def _() -> Scene:
    scene = Scene().look()
    scene.refusal = (
        'pods "digits-worker-0" is forbidden: violates PodSecurity "baseline:latest": host '
        "namespaces (hostNetwork=true)"
    )
    return scene.look()


@situation(
    "the researcher's share of GPUs is used up",
    "ResearcherLimit",
    says=("'ada' may hold 4 at a time", "starts when others of theirs have ended"),
    next="spotrain list",
)
def _() -> Scene:
    return of_ada(gpus=4)


@situation(
    "the researcher's share is smaller than the job",
    "ResearcherLimitTooLow",
    says=("'ada' may hold 1 at a time", "can never start"),
    next=EDIT,
)
def _() -> Scene:
    return of_ada(gpus=1)


@situation(
    "the sweep has as many jobs running as it may",
    "SweepLimit",
    says=("sweep 'exp1' lets 1 of its jobs hold nodes at once", "starts when they have ended"),
    next="spotrain sweep exp1",
)
def _() -> Scene:
    scene = Scene()
    scene.job["metadata"]["labels"] = {contract.LABEL_SWEEP: "exp1"}
    scene.job["spec"]["sweep"] = {"atMost": 1}
    scene.claims = (neighbour(sweep="jobs/exp1", place="elsewhere/a"),)
    return scene.look()


def of_ada(*, gpus: int) -> Scene:
    scene = Scene()
    scene.job["metadata"]["labels"] = {contract.LABEL_RESEARCHER: "ada"}
    scene.max_gpus = gpus
    scene.claims = (neighbour(researcher="ada", place="elsewhere/a"),)
    return scene.look()


def neighbour(**changes: object) -> Claim:
    claim = Claim(
        job="jobs/other/uid",
        place="t4-spot/a",
        researcher="",
        priority=0,
        since=NOON - timedelta(hours=1),
        gpus_per_worker=1,
        started=True,
        least=4,
        housed=4,
        held=4,
        wanted=4,
    )
    return replace(claim, **changes)  # type: ignore[arg-type]


@situation(
    "other jobs go first",
    "PlaceTaken",
    says=("has 8 GPUs, and 1 job goes before this one",),
    next="spotrain list",
)
def _() -> Scene:
    scene = Scene(pools=POOLS.replace("[a, b]", "[a]"))
    scene.claims = (neighbour(least=8, housed=8, held=8, wanted=8),)
    return scene.look()


# --- No node --------------------------------------------------------------------------------------
@situation(
    "workers began to look for a node a moment ago",
    "LookingForNodes",
    says=("4 of its workers have been looking for a node since 12:00:00 UTC",),
    next=STATUS,
)
def _() -> Scene:
    return homeless().wait(0.5)


@situation(
    "the pool has no more nodes, with another zone to go to",
    "PoolFull",
    says=("8 in a zone", "At 12:10:00 UTC it moves to t4-spot, zone b"),
    next="spotrain gpus",
)
def _() -> Scene:
    return homeless().wait(1).autoscaler_says(NOT_TRIGGERED, FULL).look()


@situation(
    "the pool has no more nodes, and there is no other",
    "PoolFull",
    says=("There is no other place for it",),
    next="spotrain gpus",
)
def _() -> Scene:
    pools = POOLS.replace("[a, b]", "[a]")
    return homeless(pools=pools).wait(1).autoscaler_says(NOT_TRIGGERED, FULL).look()


@situation(
    "no spot capacity in its zone",
    "NoCapacity",
    says=("zone a of the pool t4-spot since 12:00:00", NO_SPOT, "moves to t4-spot, zone b now"),
    next=STATUS,
)
def _() -> Scene:
    scene = homeless().wait(2).autoscaler_says(NOT_TRIGGERED, f"{BACKOFF}, {NO_MATCH}")
    code = "placeholder-cannot-be-fulfilled"
    return scene.group("b").group("a", status="Backoff", code=code, error=NO_SPOT)


@situation(
    "no spot capacity in any zone",
    "NoCapacity",
    says=(
        "zone b of the pool t4-spot",
        "no other place",
        "t4-spot, zone a failed lately",
        "12:12:00",
    ),
    next=STATUS,
)
def _() -> Scene:
    scene = homeless().wait(2).autoscaler_says(NOT_TRIGGERED, BACKOFF).look()
    scene.pods.clear()
    return scene.look().create().stuck().wait(2).autoscaler_says(NOT_TRIGGERED, BACKOFF).look()


@situation(
    "the cloud account's quota is used up",
    "CloudQuota",
    says=("may not have more nodes", "VcpuLimitExceeded"),
    next="spotrain doctor",
)
def _() -> Scene:
    scene = homeless().wait(2).autoscaler_says(NOT_TRIGGERED, f"{BACKOFF}, {NO_MATCH}")
    said = "You have requested more vCPU capacity than your current vCPU limit of 0 allows"
    return scene.group("a", status="Backoff", code="VcpuLimitExceeded", error=said)


@situation(
    "the cloud's quota, told in an event",
    "CloudQuota",
    says=("QUOTA_EXCEEDED",),
    next="spotrain doctor",
)
def _() -> Scene:
    said = "Failed adding 4 nodes to group t4-spot-a due to OutOfResource.QUOTA_EXCEEDED"
    return homeless().wait(2).autoscaler_says("FailedScaleUp", said)


# --- The same on Google Cloud, whose autoscaler has words and names of its own --------------------
ON_GOOGLE: Final = (
    POOLS.replace("[a, b]", "[us-central1-a, us-central1-b]")
    .replace("[g4dn.xlarge, g4dn.2xlarge]", "[n1-standard-4]")
    .replace("noticeSeconds: 90", "noticeSeconds: 105")
)
GOOGLE_GROUP: Final = (
    "https://www.googleapis.com/compute/v1/projects/my-project/zones/us-central1-a"
    "/instanceGroups/gke-dev-t4-spot-a-1a2b3c4d-grp"
)


def google_fails(why: str) -> Scene:
    said = (
        f"Node scale up in zones us-central1-a associated with this pod failed: {why}. "
        "Pod is at risk of not being scheduled."
    )
    return homeless(pools=ON_GOOGLE).wait(2).autoscaler_says("FailedScaleUp", said)


@situation(
    "Google Cloud: no spot machine in this zone",
    "NoCapacity",
    says=(
        "zone us-central1-a of the pool t4-spot since 12:00:00",
        "ZONE_RESOURCE_POOL_EXHAUSTED",
        "moves to t4-spot, zone us-central1-b now",
    ),
    next=STATUS,
)
def _() -> Scene:
    code, error = "OUT_OF_RESOURCES", "ZONE_RESOURCE_POOL_EXHAUSTED: no n1-standard-4 with a T4"
    scene = google_fails("GCE out of resources")
    return scene.group("", named=GOOGLE_GROUP, status="Backoff", code=code, error=error)


@situation(
    "Google Cloud: the project's quota is used up",
    "CloudQuota",
    says=("zone us-central1-a", "GCE quota exceeded"),
    next="spotrain doctor",
)
def _() -> Scene:
    return google_fails("GCE quota exceeded")


@situation(
    "Google Cloud: the network has no address left",
    "NetworkFull",
    says=("no addresses left", "IP space exhausted"),
    next="spotrain doctor",
)
def _() -> Scene:
    return google_fails("IP space exhausted")


@situation(
    "Google Cloud: the autoscaler says nothing",
    "AutoscalerSilent",
    says=("since 12:00:00 UTC", "said nothing"),
    next="kubectl -n kube-system get configmap cluster-autoscaler-status -o yaml",
)
def _() -> Scene:
    return homeless(pools=ON_GOOGLE).wait(5)


@situation(
    "a worker is larger than any node",
    "TooLargeForNode",
    says=("Insufficient memory",),
    next=EDIT,
)
def _() -> Scene:
    said = f"pod didn't trigger scale-up: 1 Insufficient memory, {NO_MATCH}"
    return homeless().wait(2).autoscaler_says(NOT_TRIGGERED, said)


@situation(
    "the autoscaler knows no group that fits",
    "NoNodeGroup",
    says=("does not see the pools",),
    next="spotrain doctor",
)
def _() -> Scene:
    return (
        homeless()
        .wait(2)
        .autoscaler_says(NOT_TRIGGERED, f"pod didn't trigger scale-up: {NO_MATCH}")
    )


@situation(
    "the autoscaler says nothing",
    "AutoscalerSilent",
    says=("since 12:00:00 UTC", "said nothing"),
    next="kubectl -n kube-system get deployment cluster-autoscaler",
)
def _() -> Scene:
    return homeless().wait(5)


@situation(
    "no node is free, and nobody adds any",
    "Unschedulable",
    says=("The scheduler: 0/3 nodes are available", "At 12:10:00 UTC it moves"),
    next="spotrain gpus",
)
def _() -> Scene:
    fixed = POOLS.replace("instanceTypes: [g4dn.xlarge, g4dn.2xlarge], ", "")
    return homeless(pools=fixed).wait(5)


@situation(
    "a node was ordered",
    "NodeOrdered",
    says=("ordered at 12:01:00 UTC",),
    next=STATUS,
)
def _() -> Scene:
    said = "pod triggered scale-up: [{eks-pool-t4-spot-a 0->4 (max: 8)}]"
    return homeless().wait(1).autoscaler_says("TriggeredScaleUp", said).wait(2).look()


@situation(
    "a node was ordered and never came",
    "NodeDidNotCome",
    says=("ordered at 12:01:00 UTC", "15 minutes"),
    next="kubectl get nodes -L spotrain.dev/pool",
)
def _() -> Scene:
    said = "pod triggered scale-up: [{eks-pool-t4-spot-a 0->4 (max: 8)}]"
    return homeless().wait(1).autoscaler_says("TriggeredScaleUp", said).wait(16)


@situation(
    "a node boots",
    "NodeBooting",
    says=("node-0 has been booting since 12:01:00 UTC",),
    next=STATUS,
)
def _() -> Scene:
    return homeless().wait(1).node("node-0", ready="False", gpus=0).wait(3).look()


@situation(
    "a node does not come up",
    "NodeNotComingUp",
    says=("node-0", "counts as broken"),
    next="kubectl describe node node-0",
)
def _() -> Scene:
    one_zone = homeless(pools=POOLS.replace("[a, b]", "[a]")).wait(1)
    return one_zone.node("node-0", ready="False", gpus=0).wait(20).look()


@situation(
    "a node is ready, its GPU plugin is not yet",
    "GpuPluginStarting",
    says=("node-0 is ready",),
    next=STATUS,
)
def _() -> Scene:
    return homeless().wait(1).node("node-0", gpus=0).wait(3).look()


@situation(
    "a node is ready, its GPU plugin fails",
    "GpuPluginNotReady",
    says=("offers no nvidia.com/gpu since 12:01:00 UTC",),
    next="kubectl -n kube-system get pods -l app.kubernetes.io/name=nvidia-device-plugin",
)
def _() -> Scene:
    one_zone = homeless(pools=POOLS.replace("[a, b]", "[a]")).wait(1)
    return one_zone.node("node-0", gpus=0).wait(20).look()


# --- A node, and no start -------------------------------------------------------------------------
def pulling(reason: str, told: str) -> Scene:
    scene = Scene().look().create()
    scene.schedule(reason=reason, message='Back-off pulling image "' + told[:20])
    said = f'Failed to pull image "registry.example/team/train:v3": {told}'
    return scene.event("Failed", said, pod=0).look().wait(1)


@situation("the image has no such name", "ImageNotFound", says=("no such image",), next=EDIT)
def _() -> Scene:
    return pulling("ImagePullBackOff", "rpc error: code = NotFound desc = manifest unknown")


@situation("the image may not be pulled", "ImageNotAllowed", says=("right to pull",), next=EDIT)
def _() -> Scene:
    return pulling("ErrImagePull", "failed to authorize: 403 Forbidden")


@situation("the registry is not reached", "RegistryUnreachable", next=EDIT)
def _() -> Scene:
    return pulling("ErrImagePull", "dial tcp: lookup registry.example: no such host")


@situation("the image's name is none", "ImageNameInvalid", says=("no image's name",), next=EDIT)
def _() -> Scene:
    scene = Scene(container={"image": "Team/Train:v3"}).look().create()
    said = 'couldn\'t parse image name "Team/Train:v3": repository name must be lowercase'
    return scene.schedule(reason="InvalidImageName", message=said).look()


@situation("the image is pulled", "ImagePulling", says=("since 12:00:00 UTC",), next=STATUS)
def _() -> Scene:
    return (
        Scene().look().create().schedule().event("Pulling", "Pulling image", pod=0).wait(4).look()
    )


@situation(
    "the image is pulled too slowly",
    "ImageTooSlow",
    says=("longer than 15 minutes",),
    next="kubectl -n jobs describe pod digits-worker-0",
)
def _() -> Scene:
    scene = Scene().look().create().schedule().event("Pulling", "Pulling image", pod=0)
    return scene.wait(16).look()


@situation(
    "the volume is not mounted",
    "VolumeNotMounted",
    says=("Connection timed out",),
    next="kubectl -n jobs describe pod digits-worker-0",
)
def _() -> Scene:
    scene = Scene().look().create().schedule().wait(3)
    said = 'MountVolume.SetUp failed for volume "efs": mount.nfs4: Connection timed out'
    return scene.event("FailedMount", said, pod=0).look()


def with_claim(*claims: tuple[str, str]) -> Scene:
    volume = {"name": "efs", "persistentVolumeClaim": {"claimName": "efs"}}
    scene = Scene(pod_spec={"volumes": [volume]}).look().create()
    scene.more["claims"] = [
        {"metadata": {"name": name}, "status": {"phase": phase}} for name, phase in claims
    ]
    return scene


@situation(
    "the claim that it mounts is not there",
    "ClaimMissing",
    says=("there: data",),
    next="kubectl -n jobs get pvc",
)
def _() -> Scene:
    said = '0/3 nodes are available: persistentvolumeclaim "efs" not found.'
    return with_claim(("data", "Bound")).stuck(message=said).look().wait(5)


@situation(
    "the claim that it mounts has no volume",
    "ClaimNotBound",
    says=("Pending",),
    next="kubectl -n jobs describe pvc efs",
)
def _() -> Scene:
    said = "0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims."
    return with_claim(("efs", "Pending")).stuck(message=said).look().wait(5)


@situation(
    "a secret is not there",
    "SecretMissing",
    says=("secret wandb",),
    next="kubectl -n jobs create secret generic wandb --from-literal=KEY=VALUE",
)
def _() -> Scene:
    scene = Scene().look().create()
    said = 'secret "wandb" not found'
    return scene.schedule(reason="CreateContainerConfigError", message=said).look()


@situation(
    "the coordinator's certificate is not in the namespace",
    "AuthorityMissing",
    says=("spotrain-coordinator-ca",),
    next="spotrain doctor",
)
def _() -> Scene:
    scene = Scene().look().create().schedule().wait(3)
    said = 'MountVolume.SetUp failed: configmap "spotrain-coordinator-ca" not found'
    return scene.event("FailedMount", said, pod=0).look()


@situation("the command is not in the image", "CommandNotStarted", says=("trian.py",), next=EDIT)
def _() -> Scene:
    scene = Scene().look().create()
    said = 'exec: "trian.py": executable file not found in $PATH: unknown'
    return scene.schedule(reason="RunContainerError", message=said).look()


@situation(
    "the subnet has no address left",
    "NoPodAddress",
    says=("no address left",),
    next="spotrain doctor",
)
def _() -> Scene:
    scene = Scene().look().create().schedule().wait(1)
    said = "plugin type=aws-cni: add cmd: failed to assign an IP address to container"
    return scene.event("FailedCreatePodSandBox", said, pod=0).look()


# --- It trained, or tries to ----------------------------------------------------------------------
TRACEBACK: Final = "Traceback (most recent call last):\n  File \"train.py\"\nKeyError: 'lr'\n"


@situation(
    "it crashes again and again",
    "CrashLoop",
    says=(
        "exit code 1: KeyError: 'lr'.",
        "6 failures are forgiven",
        "tried again at 12:00:10 UTC.",
    ),
    next=WORKER,
)
def _() -> Scene:
    return Scene(replicas=2).look().create().fail(0, message=TRACEBACK).look()


@situation(
    "a program in the image is not found",
    "CrashLoop",
    says=("127 (its command was not found in the image)",),
    next=WORKER,
)
def _() -> Scene:
    return Scene(replicas=2).look().create().fail(0, code=127).look()


@situation(
    "it runs out of memory",
    "OutOfMemory",
    "CrashLoop",
    says=("limit of 8Gi",),
    next=EDIT,
)
def _() -> Scene:
    return Scene(replicas=2).look().create().fail(0, code=137, reason="OOMKilled").look()


@situation(
    "a worker is killed by a signal, and is no failure",
    "WorkerTaken",
    says=("exit code 137", "no failure is counted"),
    next=STATUS,
)
def _() -> Scene:
    return Scene(replicas=2).look().create().fail(0, code=137).look()


@situation(
    "too few workers are left",
    "BelowMinReplicas",
    "NoCapacity",
    says=("stands still since 12:06:00 UTC with 1 of the 2",),
    next=STATUS,
)
def _() -> Scene:
    scene = running(replicas=2).wait(1)
    del scene.pods[1]
    return scene.look().create(1).stuck(1).wait(1).autoscaler_says(NOT_TRIGGERED, BACKOFF)


@situation(
    "too few workers are left of a job that has done no step yet",
    "BelowMinReplicas",
    "NoCapacity",
    says=("digits waits", "It stands still since", "it begins when they are there"),
    next=STATUS,
)
def _() -> Scene:
    scene = Scene(replicas=2).look().create().run().train(0).look().wait(6)
    del scene.pods[1]
    return scene.look().create(1).stuck(1).wait(1).autoscaler_says(NOT_TRIGGERED, BACKOFF)


@situation(
    "it grows, and gets no more nodes",
    "NoCapacity",
    "Training",
    says=("digits trains", "3 of 4 workers are ready"),
    next=STATUS,
)
def _() -> Scene:
    scene = running().wait(1)
    del scene.pods[3]
    return scene.create(3).stuck(3).wait(1).autoscaler_says(NOT_TRIGGERED, BACKOFF).look()


@situation(
    "a node is not heard of",
    "BelowMinReplicas",
    "NodeLost",
    says=("node-0, the node of digits-worker-0, was given up as lost at 12:07:00 UTC",),
    next=STATUS,
)
def _() -> Scene:
    scene = running(replicas=2).wait(1)
    scene.pods[0]["status"]["conditions"][-1]["status"] = "False"
    return scene.node("node-0", ready="Unknown").node("node-1").wait(1).look()


@situation(
    "a node was announced to go",
    "NodeLeaving",
    "Training",
    says=("which is to go (taint spotrain.dev/leaving)",),
    next=STATUS,
)
def _() -> Scene:
    scene = running().node("node-3")
    taint = {"key": contract.TAINT_LEAVING, "effect": "NoSchedule"}
    scene.nodes[0]["spec"]["taints"] = [taint]
    return scene.look()


@situation(
    "a more important job takes its place",
    "Preempted",
    "Training",
    says=("A more important job took the place of digits-worker-3",),
    next=STATUS,
)
def _() -> Scene:
    scene = running()
    scene.event(
        "Preempted", "Preempted by pod 1234 on node node-3", pod=3, source="default-scheduler"
    )
    told = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    scene.pods[3]["status"]["conditions"].append(told)
    return scene.look()


@situation(
    "a worker has filled its node's disk",
    "DiskUsedUp",
    says=("ephemeral-storage",),
    next=EDIT,
)
def _() -> Scene:
    scene = Scene(replicas=2).look().create().fail()
    said = "The node was low on resource: ephemeral-storage."
    for pod in scene.pods:
        pod["status"] |= {"reason": "Evicted", "message": said}
    return scene


@situation(
    "the training hangs, and is restarted",
    "Hang",
    says=("World 1 did no step after 100", "rank 3 waits in all_reduce"),
    next=LOGS,
)
def _() -> Scene:
    scene = running(elastic={"progressDeadlineSeconds": 60}).wait(2).look()
    assert scene.world is not None
    finding = StalledWorld(1, "rank 3 waits in all_reduce, train.py line 40")
    scene.world = replace(scene.world, stalled=finding)
    return scene.look()


MEMBERS: Final = ("0", "1", "2", "3")
ENDED: Final = "local rank 0 ended with code 3"


def restarted(*failures: str, again: Chapter) -> Scene:
    """Its script has failed so often in its pods, each time a minute after noon, two, ..."""
    scene = running()
    assert scene.world is not None
    over = [
        Chapter(
            number=number,
            members=MEMBERS,
            published_at=60.0 * (number - 1),
            ended_at=60.0 * number,
            reason=Reason.FAILURE,
            message=message,
        )
        for number, message in enumerate(failures, start=1)
    ]
    scene.world = replace(
        scene.world,
        number=again.number,
        restarts=len(failures),
        chapters=(*over, again),
        clock_began=NOON,
    )
    return scene.look()


@situation(
    "the script fails again and again, while its pods run on",
    "ScriptFails",
    says=(
        "digits keeps failing",
        "failed 3 times in a row, last at 12:03:00 UTC: local rank 0 ended with code 3.",
        "no step since",
        "3 of the 6 failures",
    ),
    next=LOGS,
)
def _() -> Scene:
    return restarted(*[ENDED] * 3, again=Chapter(number=4, members=MEMBERS, published_at=200.0))


@situation(
    "the script has failed, and trains again",
    "ScriptFailed",
    "Training",
    says=("digits trains", "last at 12:01:00 UTC: local rank 0", "steps since", "1 of the 6"),
    next=LOGS,
)
def _() -> Scene:
    again = Chapter(number=2, members=MEMBERS, published_at=70.0, first_step=0, first_step_at=80.0)
    return restarted(ENDED, again=again)


@situation(
    "the script failed long ago",
    "Training",
    says=("digits trains",),
    next=f"{LOGS} --follow",
)
def _() -> Scene:
    again = Chapter(number=2, members=MEMBERS, published_at=70.0, first_step=0, first_step_at=80.0)
    return restarted(ENDED, again=again).wait(40).train(5000, number=2).look()


@situation(
    "no step is told of any more",
    "NoStepLately",
    says=("since 12:05:00 UTC", "by 12:20:00 UTC"),
    next=LOGS,
)
def _() -> Scene:
    return running().wait(10).look()


@situation(
    "some workers stand by",
    "Spare",
    "Training",
    says=("1 of its 4 workers stand by", "2, 3 workers"),
    next="spotrain scale digits --help",
)
def _() -> Scene:
    scene = Scene(elastic={"allowedReplicas": [2, 3]}).look().create().run()
    return scene.train(5, size=3).look()


@situation(
    "its workers run, and have no world yet",
    "Forming",
    next=f"{LOGS} --follow",
)
def _() -> Scene:
    return Scene().look().create().run().look()


@situation(
    "it trains",
    "Training",
    says=("world 1 of 4 workers, step 100 at 12:05:00 UTC",),
    next=f"{LOGS} --follow",
)
def _() -> Scene:
    return running()


# --- It has stopped -------------------------------------------------------------------------------
@situation(
    "it is suspended",
    "Suspended",
    says=("costs nothing",),
    next="spotrain resume digits",
)
def _() -> Scene:
    scene = running()
    scene.job["spec"]["suspend"] = True
    scene.pods.clear()
    return scene.look()


@situation(
    "it is suspended, and its workers are still leaving",
    "Suspended",
    says=("4 of its workers are still saving",),
    next="spotrain resume digits",
)
def _() -> Scene:
    scene = running()
    scene.job["spec"]["suspend"] = True
    return scene.look()


def over_budget(*, suspend: bool = False) -> Scene:
    """Four nodes at $0.18 an hour, for half an hour, of 5 cents."""
    scene = Scene(budget={"maxDollars": 0.05})
    for index in range(4):
        scene.node(f"node-{index}")
    scene.look().create().run().look().wait(30)
    scene.job["spec"]["suspend"] = suspend
    scene.look().pods.clear()
    return scene.wait(1).look()


@situation(
    "it has cost what it may",
    "BudgetExceeded",
    says=("has cost about $0.36", "spec.budget.maxDollars is 0.05"),
    next=AFFORD,
)
def _() -> Scene:
    return over_budget()


@situation(
    "it has cost what it may, and is suspended too",
    "BudgetExceeded",
    "Suspended",
    says=("--budget USD", "costs nothing"),
    next=AFFORD,
)
def _() -> Scene:
    return over_budget(suspend=True)


@situation(
    "it has finished", "Succeeded", says=("at 12:05:00 UTC",), next="spotrain describe digits"
)
def _() -> Scene:
    scene = running()
    ended = {"terminated": {"exitCode": 0, "reason": "Completed"}}
    scene.pods[0]["status"] |= {"phase": "Succeeded", "containerStatuses": [container(ended)]}
    return scene.look()


@situation(
    "it has finished without a step, as it has the output of an earlier job",
    "Succeeded",
    says=("finished the training at step 640", "nothing left to train", "another name"),
    next="spotrain describe digits",
)
def _() -> Scene:
    scene = running().train(640, number=2)
    assert scene.world is not None
    found = Chapter(
        number=2,
        members=MEMBERS,
        published_at=70.0,
        first_step=640,
        first_step_at=80.0,
        last_step=640,
    )
    scene.world = replace(
        scene.world, chapters=(found,), clock_began=NOON, outcome="succeeded", size=0
    )
    return scene.look()


@situation(
    "it has failed too often",
    "BackoffLimitExceeded",
    says=("failed 1 times, backoffLimit is 0", "KeyError: 'lr'", "submit it again"),
    next=LOGS,
)
def _() -> Scene:
    scene = Scene(replicas=2, backoffLimit=0).look().create()
    return scene.fail(message=TRACEBACK).look()


@situation(
    "it has run out of time",
    "DeadlineExceeded",
    says=("activeDeadlineSeconds, 60",),
    next=LOGS,
)
def _() -> Scene:
    return Scene(activeDeadlineSeconds=60).look().create().run().look().wait(2).look()


@situation(
    "it has waited too long for its workers",
    "MinReplicasTimeout",
    says=("fewer than minReplicas workers for 60 s", "0/3 nodes"),
    next=LOGS,
)
def _() -> Scene:
    scene = homeless(elastic={"minReplicasTimeoutSeconds": 60})
    return scene.wait(2).look()


@situation(
    "it is being deleted",
    "BeingDeleted",
    says=("held by example.com/keep",),
    next="spotrain list",
)
def _() -> Scene:
    scene = running()
    scene.job["metadata"] |= {
        "deletionTimestamp": text(at(6)),
        "finalizers": ["example.com/keep"],
    }
    return scene


# --- Two at once ----------------------------------------------------------------------------------
@situation(
    "a wrong image, and no capacity for the rest",
    "ImageNotFound",
    "NoCapacity",
    says=("no such image", "has had no node to give"),
    next=EDIT,
)
def _() -> Scene:
    scene = Scene().look().create().stuck(1, 2, 3)
    scene.schedule(0, reason="ErrImagePull", message="manifest unknown").look().wait(2)
    return scene.autoscaler_says(NOT_TRIGGERED, BACKOFF)


@situation(
    "a crash, and a quota that keeps the replacement out",
    "CrashLoop",
    "QuotaExceeded",
    says=("KeyError", "16 of 16"),
    next=WORKER,
)
def _() -> Scene:
    gpus = "requests.nvidia.com/gpu"
    scene = over_quota(f"{gpus}=1", f"{gpus}=16", f"{gpus}=16", replicas=2)
    return scene.create(0).fail(0, message=TRACEBACK).look()


@situation(
    "no node, and no controller",
    "ControllerNotRunning",
    "NoCapacity",
    says=("does not run", "no node to give"),
    next="kubectl -n spotrain-system describe deployment spotrain-controller",
)
def _() -> Scene:
    scene = homeless().wait(2).autoscaler_says(NOT_TRIGGERED, BACKOFF)
    scene.more["controller"] = deployment(ready=0)
    return scene
