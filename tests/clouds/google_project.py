"""A Google Cloud project in which all is well, as its APIs tell it; one pool of T4 in two zones."""

from typing import Any, Final

from tests.clouds.google_server import Answer

PROJECT, REGION = "my-project", "us-central1"
ZONES: Final = ("us-central1-a", "us-central1-b")
TYPE: Final = "n1-standard-4"
MANAGER: Final = "e2-standard-2"
SERVER: Final = "https://gke-0123456789.us-central1.gke.goog"
DIGEST: Final = "sha256:" + "1" * 64
IMAGE: Final = f"us-central1-docker.pkg.dev/{PROJECT}/spotrain/training@{DIGEST}"
TAGGED: Final = f"us-central1-docker.pkg.dev/{PROJECT}/spotrain/team/own:v1"
REGION_PATH: Final = f"compute/compute/v1/projects/{PROJECT}/regions/{REGION}"
PROJECT_PATH: Final = f"compute/compute/v1/projects/{PROJECT}"
CLUSTERS_PATH: Final = f"container/v1/projects/{PROJECT}/locations/-/clusters"
REPOSITORY_PATH: Final = (
    f"artifactregistry/v1/projects/{PROJECT}/locations/us-central1/repositories/spotrain"
)
IMAGE_PATH: Final = f"{REPOSITORY_PATH}/dockerImages/training@{DIGEST}"
TAG_PATH: Final = f"{REPOSITORY_PATH}/packages/team/own/tags/v1"


def machine_path(zone: str, type: str = TYPE) -> str:
    return f"compute/compute/v1/projects/{PROJECT}/zones/{zone}/machineTypes/{type}"


def quotas(**limits: float) -> dict[str, Any]:
    """Of a region or a project; two of each are in use."""
    return {
        "name": REGION,
        "quotas": [
            {"metric": metric, "limit": limit, "usage": 2} for metric, limit in limits.items()
        ],
    }


def node_pool(zone: str, **changed: Any) -> dict[str, Any]:
    """As the stack makes one."""
    return {
        "name": f"t4-spot-{zone}",
        "status": "RUNNING",
        "locations": [zone],
        "autoscaling": {"enabled": True, "totalMaxNodeCount": 4, "locationPolicy": "ANY"},
        "config": {
            "machineType": TYPE,
            "spot": True,
            "labels": {"spotrain.dev/pool": "t4-spot"},
            "kubeletConfig": {
                "shutdownGracePeriodSeconds": 120,
                "shutdownGracePeriodCriticalPodsSeconds": 15,
            },
        },
        **changed,
    }


def cluster(*node_pools: dict[str, Any]) -> dict[str, Any]:
    address = SERVER.removeprefix("https://")
    ways = {"dnsEndpointConfig": {"endpoint": address}, "ipEndpointsConfig": {"enabled": False}}
    return {
        "name": "dev",
        "endpoint": "10.0.0.2",
        "controlPlaneEndpointsConfig": ways,
        "nodePools": [
            {
                "name": "managers",
                "status": "RUNNING",
                "locations": list(ZONES),
                "autoscaling": {"enabled": True, "totalMaxNodeCount": 3},
                "config": {"machineType": MANAGER},
            },
            *node_pools,
        ],
    }


def answers() -> dict[str, Answer | list[Answer]]:
    """What the paths answer; tests replace single ones."""
    other = {"name": "another", "endpoint": "203.0.113.7", "nodePools": []}
    machine = {"name": TYPE, "guestCpus": 4, "memoryMb": 15360}
    return {
        REGION_PATH: (200, quotas(PREEMPTIBLE_NVIDIA_T4_GPUS=8, NVIDIA_T4_GPUS=1)),
        PROJECT_PATH: (200, quotas(GPUS_ALL_REGIONS=8)),
        **{machine_path(zone): (200, machine) for zone in ZONES},
        machine_path(ZONES[0], MANAGER): (200, {"name": MANAGER, "guestCpus": 2, "memoryMb": 8192}),
        CLUSTERS_PATH: (200, {"clusters": [other, cluster(*map(node_pool, ZONES))]}),
        IMAGE_PATH: (200, {"name": "an image"}),
        TAG_PATH: (200, {"name": "a tag"}),
    }
