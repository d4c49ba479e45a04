"""Every string that infrastructure, controller, agent, training library and command line share.

One place for each fact: a label spelled twice is a node pool that never scales up.
Nothing here may import anything outside the standard library.
"""

from typing import Final

# --- The custom resource (upstream TorchElastic's group, so that old jobs apply unchanged) -------
GROUP: Final = "elastic.pytorch.org"
VERSION: Final = "v1alpha1"
API_VERSION: Final = f"{GROUP}/{VERSION}"
KIND: Final = "ElasticJob"
PLURAL: Final = "elasticjobs"
WORKER: Final = "Worker"
"""The one replica type: upstream's key in `spec.replicaSpecs`."""
WORKER_CONTAINER: Final = "elasticjob-worker"
"""The container that gets the agent's settings; a template without it means its first container."""

# --- Labels of pods (upstream's four) --------------------------------------------------------
LABEL_GROUP: Final = "group-name"
LABEL_JOB: Final = "job-name"
LABEL_REPLICA_TYPE: Final = "replica-type"
LABEL_REPLICA_INDEX: Final = "replica-index"

# --- Labels and taint of GPU nodes, the same on every cloud: a stack puts ours on them ---------
DOMAIN: Final = "spotrain.dev"
LABEL_POOL: Final = f"{DOMAIN}/pool"
LABEL_GPU: Final = f"{DOMAIN}/gpu"
"""GPU model in lower case, as a job asks for it: t4, a10g, l4, a100, h100."""
NO_GPU: Final = "cpu"
"""Stands where a GPU model would, for nodes without: jobs train on the processor there."""
LABEL_CAPACITY: Final = f"{DOMAIN}/capacity"
CAPACITY_SPOT: Final = "spot"
CAPACITY_ON_DEMAND: Final = "on-demand"
LABEL_ROLE: Final = f"{DOMAIN}/role"
ROLE_MANAGER: Final = "manager"
ROLE_WORKER: Final = "worker"
LABEL_ZONE: Final = "topology.kubernetes.io/zone"
"""Kubernetes' own, from the cloud; its value is the cloud's name: us-east-1a, us-central1-a."""
LABEL_INSTANCE_TYPE: Final = "node.kubernetes.io/instance-type"
"""Kubernetes' own, from the cloud."""
ADDRESSES_PER_NODE: Final = 24
"""Of a subnet: what the CNI holds on a node on AWS, 16 warm ones, its interfaces' own, and room."""
GPU_RESOURCE: Final = "nvidia.com/gpu"
GPU_TAINT_KEY: Final = "nvidia.com/gpu"
GPU_TAINT_VALUE: Final = "present"
"""GKE's own value, so that one toleration serves every cloud."""
GPU_TAINT_EFFECT: Final = "NoSchedule"
TAINT_LEAVING: Final = f"{DOMAIN}/leaving"
"""Put on a node that is about to go (effect NoSchedule): its workers leave it at once, saving."""
NOTICE_TAINTS: Final = frozenset(
    {
        TAINT_LEAVING,
        "ToBeDeletedByClusterAutoscaler",
        "cloud.google.com/impending-node-termination",
        "karpenter.sh/disrupted",
    }
)
"""By which a cloud, or whoever removes nodes, says that one is about to go."""
NOTICE_PREFIXES: Final = ("aws-node-termination-handler/",)
"""How such taints begin, where they are several."""

# --- Names of the platform's objects in a cluster ---------------------------------------------
SYSTEM_NAMESPACE: Final = "spotrain-system"
JOB_NAMESPACE: Final = "elastic-job"
"""Where jobs live unless a stack says otherwise: upstream's own name."""
LABEL_JOBS: Final = f"{DOMAIN}/jobs"
"""`true` on a namespace where jobs run; k8s/job-pods.yaml says what pods there may not ask for."""
RESEARCHERS_GROUP: Final = "spotrain:researchers"
"""Kubernetes group of the people who run jobs; the cloud says who belongs to it."""
PRICES_CONFIGMAP: Final = "spotrain-prices"
PRICES_KEY: Final = "prices.yaml"
"""Key of the prices ConfigMap: a YAML list, one mapping a spot pool, zone and instance type, with
the fields of `job.Price`: pool, zone, instanceType, spotUsdPerHour, at. Empty until the first
refresh; a price that the cloud no longer tells stays, with the old time in `at`."""
PRICES_REFRESHER: Final = "spotrain-prices"
"""Who writes the prices: the name of the CronJob, of its service account and of its rights."""
BUCKET_CLAIM: Final = "bucket"
BUCKET_MOUNT: Final = "/mnt/bucket"
JOB_UID: Final = 1000
"""User of our images, and owner of the shared folders."""
PRIORITY_LOW: Final = "spotrain-low"
PRIORITY_NORMAL: Final = "spotrain-normal"
PRIORITY_HIGH: Final = "spotrain-high"
"""What a template may name as its `priorityClassName`; one that names none counts as normal."""
CONTROLLER_NAME: Final = "spotrain-controller"
COORDINATOR_SERVICE: Final = "spotrain-coordinator"
COORDINATOR_PORT: Final = 8443
METRICS_PORT: Final = 8080
MONITORING_NAMESPACE: Final = "monitoring"
"""Where Prometheus runs, if a stack asks for metrics."""
ALERTS_ACCOUNT: Final = "alertmanager"
"""Service account of Alertmanager in the monitoring namespace: the cloud gives it the right to tell
people."""
POOLS_CONFIGMAP: Final = "spotrain-pools"
POOLS_KEY: Final = "pools.yaml"
"""Key of the pools ConfigMap: a YAML list, one mapping a pool, with the fields of `job.Pool`."""
TERMS_KEY: Final = "terms.yaml"
"""Key of the pools ConfigMap: a YAML mapping with the fields of `job.Terms`."""
TRAINING_IMAGE_KEY: Final = "trainingImage"
"""Key of the pools ConfigMap: the training image, by digest, of jobs that name none."""
ENV_JOB_NAMESPACE: Final = "SPOTRAIN_JOB_NAMESPACE"
"""The controller's setting: the only namespace whose jobs it runs; empty: all."""
ENV_MAX_GPUS: Final = "SPOTRAIN_MAX_GPUS_PER_RESEARCHER"
"""The controller's setting: most GPUs that the jobs of one researcher hold together; empty: any."""
LABEL_RESEARCHER: Final = f"{DOMAIN}/researcher"
"""Label of a job: whose it is. Jobs without it count as one more researcher's."""
LABEL_SWEEP: Final = f"{DOMAIN}/sweep"
"""Label of a job: the sweep that it belongs to; `spec.sweep.atMost` limits those of one value."""
SWEEP_VALUES_ANNOTATION: Final = f"{DOMAIN}/sweep-values"
"""Annotation of a job of a sweep: what it tries, as a JSON object of texts."""
OFFER_ANNOTATION: Final = f"{DOMAIN}/offer"
"""Annotation of a pod: <pool>/<zone>, the offer to which it was pinned."""
TOKEN_AUDIENCE: Final = "spotrain"
VOLUME_CLAIM: Final = "efs"
VOLUME_MOUNT: Final = "/mnt/efs"
DATA_DIR: Final = "data"
OUTPUT_DIR: Final = "output"
ARCHIVE_NAME: Final = "spotrain-archive"
"""The Deployment in the job namespace that keeps ledger and logs, and its service account."""
ARCHIVE_CLAIM: Final = "spotrain-archive"
"""Claim of the volume for ledger and logs, which no pod of a job may mount."""
ARCHIVE_MOUNT: Final = "/mnt/archive"
"""Where the archive, and nobody else, mounts it."""
ENV_ARCHIVE_LOG_DAYS: Final = "SPOTRAIN_ARCHIVE_LOG_DAYS"
"""The archive's setting: days after a job's end for which its logs are kept."""
ENV_ARCHIVE_LOGS_GIB: Final = "SPOTRAIN_ARCHIVE_LOGS_GIB"
"""The archive's setting: most GiB of all logs together."""
ENV_ARCHIVE_LEDGER_DAYS: Final = "SPOTRAIN_ARCHIVE_LEDGER_DAYS"
"""The archive's setting: days for which the ledger of a job is kept whose object is gone; empty:
for ever."""
ARCHIVE_PORT: Final = 8085
"""On its pod's loopback: the right to forward ports is the gate."""
CODE_DIR: Final = "code"
"""In output/: what was sent with jobs, one folder each, named by the SHA-256 of the archive."""

# --- Environment of the agent (`spotrain-run`); PET_* are torchrun's own ------------------------
ENV_COORDINATOR: Final = "SPOTRAIN_COORDINATOR"
"""ws:// or wss:// addresses of the coordinator, separated by commas."""
ENV_TOKEN: Final = "SPOTRAIN_TOKEN"
ENV_TOKEN_FILE: Final = "SPOTRAIN_TOKEN_FILE"
ENV_CA_FILE: Final = "SPOTRAIN_CA_FILE"
ENV_JOB: Final = "SPOTRAIN_JOB"
"""<namespace>/<name>/<uid> of the job."""
ENV_POD: Final = "SPOTRAIN_POD"
ENV_ADDRESS: Final = "SPOTRAIN_ADDRESS"
"""Address at which the other workers of the job reach this one (the pod's IP)."""
ENV_GRACE_SECONDS: Final = "SPOTRAIN_GRACE_SECONDS"
"""Seconds from SIGTERM to SIGKILL: the pod's grace period."""
DEFAULT_GRACE_SECONDS: Final = 30
"""Kubernetes' own grace period, where nobody says anything."""

ENV_PROGRESS_DEADLINE: Final = "SPOTRAIN_PROGRESS_DEADLINE_SECONDS"
"""Seconds without a finished step after which `spotrain-run --standalone` restarts its world; unset
or 0: never. A job in a cluster says it in spec.elastic.progressDeadlineSeconds."""
ENV_WAYS_BACK: Final = "SPOTRAIN_WAYS_BACK"
"""Which ways back into training may be taken after a world has ended: some of in-place, call-again
and warm, separated by commas; unset: all. `cold` alone: every world gets new processes."""
ENV_PRELOAD: Final = "SPOTRAIN_PRELOAD"
"""Modules, separated by commas, that warm starts find imported besides torch's."""

ENV_OUTPUT: Final = "SPOTRAIN_OUTPUT"
"""Folder of the job's results on the shared volume, which `spotrain submit` hands to the script."""

# --- Environment of a rank, set by the agent ---------------------------------------------------
ENV_CONTROL: Final = "SPOTRAIN_CONTROL"
"""Folder with the agent's control socket and drain flag."""
ENV_SAMPLE_LOG: Final = "SPOTRAIN_SAMPLE_LOG"
"""Folder to which every rank logs the sample ids that it consumed; unset: no log."""

# --- Exit codes of `spotrain-run` ----------------------------------------------------------------
EXIT_OK: Final = 0
EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2
EXIT_NOTICE: Final = 143
"""Left after a notice (128 + SIGTERM): upstream's ExitCode policy replaces the worker."""
RETRYABLE_EXIT_CODES: Final = frozenset({130, 137, 138, 143})
"""Upstream's retryable codes: SIGINT, SIGKILL, SIGUSR1, SIGTERM."""
