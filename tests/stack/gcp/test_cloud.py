"""What Google Cloud hands to the platform, and what it is made of."""

import copy
import json
import os
import re
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from components.cloud import Cloud, CsiVolume, Person
from components.gcp.cloud import METADATA_SERVER
from components.gcp.cluster.access import person
from components.gcp.cluster.kubeconfig import kubeconfig
from components.gcp.storage.file_server import handle
from components.gcp.storage.folders import MAKE_FOLDERS
from spotrain import contract
from spotrain.job import parse_pools
from spotrain.quotas import gcp as gcp_quotas
from stacks import schema
from stacks.clouds import support
from stacks.gcp.costs import bill
from stacks.pages.stacks import GCP_QUARRY, config_of, recording_of, settings_of
from stacks.preview import ROOT
from stacks.preview_view import numbers_by_type
from stacks.recorder import MASK, Recording

SHIPPED: dict[str, Any] = config_of("gcp")["settings"]
IMAGES = {
    "build": False,
    "training": f"example/training@sha256:{'0' * 64}",
    "controller": f"example/controller@sha256:{'1' * 64}",
}
Made = Callable[..., tuple[Cloud, Recording]]


@pytest.fixture
def made(build: Any) -> Made:
    """The cloud that the shipped file, with these sections, hands to the platform."""

    def run(**sections: Any) -> tuple[Cloud, Recording]:
        document = {**copy.deepcopy(SHIPPED), "images": IMAGES, **sections}
        settings = schema.parse(document, source="x")
        clouds: list[Cloud] = []
        recording = build(
            lambda: clouds.append(
                support("gcp").build(settings, {"project": "spotrain", "stack": "Team.One"})
            )
        )
        return clouds[0], recording

    return run


def test_spot_nodes_leave_a_worker_105_seconds_and_others_what_it_asks(find: Any) -> None:
    config = find.one(
        recording_of(GCP_QUARRY), "kubernetes:core/v1:ConfigMap", "elastic-jobs-pools"
    )
    pools = parse_pools(config.inputs["data"][contract.POOLS_KEY])
    told = {pool.name: (pool.capacity, pool.notice_seconds) for pool in pools}
    assert told["t4"] == (contract.CAPACITY_SPOT, 105)
    assert told["t4-on-demand"] == (contract.CAPACITY_ON_DEMAND, 300)


def test_shared_tree_and_archive_are_two_folders_of_one_file_system(made: Made) -> None:
    cloud, recording = made()
    (shared,) = cloud.volumes
    assert isinstance(shared.source, CsiVolume)
    assert isinstance(cloud.archive.source, CsiVolume)
    assert shared.folders == (contract.DATA_DIR, contract.OUTPUT_DIR)
    assert len(recording.of_type("kubernetes:core/v1:PersistentVolumeClaim")) == 1
    (kind,) = recording.of_type("kubernetes:storage.k8s.io/v1:StorageClass")
    assert kind.inputs["parameters"]["tier"] == "standard"
    assert kind.inputs["parameters"]["network"] == "network-vpc"
    assert kind.inputs["allowedTopologies"][0]["matchLabelExpressions"][0]["values"] == [
        "us-central1-a"
    ]


@pytest.mark.parametrize("tier", ["zonal", "regional"])
def test_a_tier_is_asked_of_the_driver_by_its_name(made: Made, tier: str) -> None:
    """The driver's `enterprise` is another tier, older and dearer."""
    _, recording = made(storage={"tier": tier, "size_gib": 1024})
    (kind,) = recording.of_type("kubernetes:storage.k8s.io/v1:StorageClass")
    assert kind.inputs["parameters"]["tier"] == tier


def test_two_folders_of_one_server_are_two_volumes_to_a_node() -> None:
    assert handle("192.0.2.2", "shared") != handle("192.0.2.2", "archive")


def test_a_server_that_is_there_is_used_and_none_is_made(made: Made) -> None:
    server = {"address": "10.9.9.9", "path": "/exports/team/"}
    _, recording = made(storage={"server": server})
    assert recording.of_type("kubernetes:storage.k8s.io/v1:StorageClass") == []
    (whole,) = recording.of_type("kubernetes:core/v1:PersistentVolume")
    csi = whole.inputs["spec"]["csi"]
    assert csi["volumeAttributes"] == {"ip": "10.9.9.9", "volume": "exports/team"}


@pytest.mark.parametrize("retain", [True, False])
def test_whether_a_file_system_is_kept_may_change_without_a_new_one(
    made: Made, retain: bool
) -> None:
    """Kubernetes refuses a class another policy, and a new class would be a new, empty claim."""
    _, recording = made(storage={"retain": retain})
    (kind,) = recording.of_type("kubernetes:storage.k8s.io/v1:StorageClass")
    assert {"reclaimPolicy", "parameters.labels"} <= set(kind.ignore_changes)
    (claim,) = recording.of_type("kubernetes:core/v1:PersistentVolumeClaim")
    (kept,) = recording.of_type("kubernetes:core/v1:PersistentVolumePatch")
    assert kept.inputs["metadata"]["name"] == f"volume-of-{claim.name}"
    assert kept.inputs["metadata"]["annotations"] == {"pulumi.com/patchForce": "true"}
    assert kept.inputs["spec"] == {
        "persistentVolumeReclaimPolicy": "Retain" if retain else "Delete"
    }


def test_a_network_is_kept_for_a_file_system_in_it_alone(made: Made) -> None:
    server = {"address": "10.9.9.9", "path": "/exports/team"}
    _, recording = made(storage={"server": server, "retain": True})
    (network,) = recording.of_type("gcp:compute/network:Network")
    assert network.retain_on_delete is False


@pytest.mark.skipif(os.getuid() != 0, reason="gives folders away, as root alone may")
def test_root_with_the_right_to_give_away_and_no_other_makes_folders(tmp_path: Path) -> None:
    words = [f"{tmp_path}/shared:0775", f"{tmp_path}/archive:0700"]
    confined = ["setpriv", "--bounding-set", "-all,+chown"]
    command = [*confined, sys.executable, "-c", MAKE_FOLDERS, str(contract.JOB_UID), *words]
    for _ in range(2):  # a Job that was cut off is run again
        subprocess.run(command, check=True)
    made = {each.name: each.stat() for each in tmp_path.iterdir()}
    assert {name: stat.S_IMODE(each.st_mode) for name, each in made.items()} == {
        "shared": 0o775,
        "archive": 0o700,
    }
    assert {each.st_uid for each in made.values()} == {contract.JOB_UID}


def test_given_images_are_used_and_no_repository_is_made(made: Made) -> None:
    cloud, recording = made()
    assert cloud.images.training == IMAGES["training"]
    assert recording.of_type("docker-build:index:Image") == []
    assert recording.of_type("gcp:artifactregistry/repository:Repository") == []


def test_tags_of_images_never_move_and_only_nodes_pull_them(find: Any) -> None:
    recording = recording_of(GCP_QUARRY)
    kind = "gcp:artifactregistry/repository:Repository"
    images, cache = (find.one(recording, kind, f"images-{role}") for role in ("images", "cache"))
    assert images.inputs["dockerConfig"] == {"immutableTags": True}
    assert images.inputs["vulnerabilityScanningConfig"] == {"enablementConfig": "INHERITED"}
    assert cache.inputs["dockerConfig"] == {"immutableTags": False}
    assert cache.inputs["vulnerabilityScanningConfig"] == {"enablementConfig": "DISABLED"}
    pull = find.one(recording, "gcp:artifactregistry/repositoryIamMember:RepositoryIamMember")
    assert pull.inputs["repository"] == images.inputs["repositoryId"]
    assert pull.inputs["member"].startswith("serviceAccount:node-account")
    for image in recording.of_type("docker-build:index:Image"):
        assert image.inputs["registries"] == MASK
        (tag,) = image.inputs["tags"]
        assert tag.startswith("us-central1-docker.pkg.dev/example-research/spotrain-images-")
    assert "@sha256:" in recording.outputs["trainingImage"]


def test_the_nodes_that_gke_makes_with_a_cluster_fit_into_a_new_projects_quota(made: Made) -> None:
    """Of 250 GB of disks; a cluster of a region begins with a node in each of three zones."""
    _, recording = made(cluster={"control_plane": "regional"})
    (plane,) = recording.of_type("gcp:container/cluster:Cluster")
    assert plane.inputs["initialNodeCount"] * 3 * plane.inputs["nodeConfig"]["diskSizeGb"] <= 100


def test_nodes_have_one_subnet_and_reach_google_beside_the_nat(find: Any) -> None:
    recording = recording_of("gcp")
    network = find.one(recording, "gcp:compute/network:Network").inputs
    assert network["autoCreateSubnetworks"] is False
    subnet = find.one(recording, "gcp:compute/subnetwork:Subnetwork").inputs
    assert subnet["privateIpGoogleAccess"] is True
    ranges = {each["rangeName"]: each["ipCidrRange"] for each in subnet["secondaryIpRanges"]}
    assert ranges == {"pods": "10.4.0.0/14", "services": "10.8.0.0/20"}
    assert recording.of_type("gcp:compute/firewall:Firewall") == []


def test_the_project_is_asked_only_once_its_apis_are_on() -> None:
    """A new project would refuse."""
    recording = recording_of("gcp")
    apis = {r.inputs["service"] for r in recording.of_type("gcp:projects/service:Service")}
    assert {"cloudresourcemanager.googleapis.com", "container.googleapis.com"} <= apis
    assert "billingbudgets.googleapis.com" not in apis
    (plane,) = recording.of_type("gcp:container/cluster:Cluster")
    assert sum("projects/service:Service" in urn for urn in plane.depends_on) == len(apis)


def test_the_page_asks_for_quotas_as_the_preview_does_and_lists_one_a_line() -> None:
    """Without --flatten gcloud prints all quotas in one line, in which grep finds everything."""
    page = (ROOT / "docs/gcp.md").read_text()
    for command in gcp_quotas.show_quotas("$REGION", "$PROJECT"):
        assert f"$ {command}\n" in page
        assert '--flatten "quotas[]"' in command


@pytest.mark.parametrize("page", ["README.md", "docs/gcp.md"])
def test_the_apis_that_the_provider_itself_asks_are_told_to_be_switched_on_first(page: str) -> None:
    """It counts every call for this project, the one by which it switches an API on too."""
    words = " ".join((ROOT / page).read_text().split())
    apis = "cloudresourcemanager.googleapis.com serviceusage.googleapis.com"
    assert f"`gcloud services enable {apis} --project " in words


def test_labels_are_as_google_takes_them(made: Made) -> None:
    _, recording = made()
    (provider,) = recording.of_type("pulumi:providers:gcp")
    labels = json.loads(provider.inputs["defaultLabels"])
    assert labels == {"project": "spotrain", "stack": "team-one"}


def test_people_get_in_by_two_permissions_and_are_named_in_the_cluster(find: Any) -> None:
    recording = recording_of(GCP_QUARRY)
    role = find.one(recording, "gcp:projects/iAMCustomRole:IAMCustomRole", "cluster-access-entry")
    assert role.inputs["permissions"] == ["container.clusters.connect", "container.clusters.get"]
    bindings = [
        body
        for body in find.objects(recording).values()
        if body["kind"].endswith("RoleBinding") and body["metadata"]["name"].endswith("-by-name")
    ]
    subjects = {(s["kind"], s["name"]) for body in bindings for s in body["subjects"]}
    assert subjects == {("User", "grace@example.com"), ("Group", "research@example.com")}
    places = {body["metadata"].get("namespace") for body in bindings}
    assert places == {None, "elastic-job", "kube-system", contract.SYSTEM_NAMESPACE}


@pytest.mark.parametrize(
    ("principal", "known"),
    [
        ("user:ada@example.com", Person(kind="User", name="ada@example.com")),
        ("group:team@example.com", Person(kind="Group", name="team@example.com")),
        (
            "serviceAccount:ci@p.iam.gserviceaccount.com",
            Person(kind="User", name="ci@p.iam.gserviceaccount.com"),
        ),
    ],
)
def test_a_principal_is_known_to_the_cluster_by_its_address(principal: str, known: Person) -> None:
    assert person(principal) == known


@pytest.mark.parametrize("authority", [None, "Y2VydA=="])
def test_a_kubeconfig_holds_no_credential(authority: str | None) -> None:
    text = kubeconfig(cluster="mine", server="https://mine.gke.example", authority=authority)
    document = json.loads(text)
    (user,) = document["users"]
    assert user["user"].keys() == {"exec"}
    (cluster,) = document["clusters"]
    assert ("certificate-authority-data" in cluster["cluster"]) is (authority is not None)


def test_the_programs_own_kubeconfig_asks_for_the_login_that_the_program_runs_with() -> None:
    document = json.loads(kubeconfig(cluster="mine", server="https://x.example", authority=None))
    exec_ = document["users"][0]["user"]["exec"]
    assert exec_["args"] == ["--use_application_default_credentials"]


@pytest.mark.parametrize("page", ["README.md", "docs/gcp.md"])
def test_both_logins_that_a_stack_needs_are_told(page: str) -> None:
    text = (ROOT / page).read_text()
    assert {"`gcloud auth application-default login`", "`gcloud auth login`"} <= {
        word for word in re.findall(r"`gcloud auth [^`]+`", text)
    }


@pytest.mark.parametrize(
    ("access", "login"), [({"dns": True}, True), ({"cidrs": ["198.51.100.0/24"]}, False)]
)
def test_the_login_goes_the_way_that_is_open(
    made: Made, access: dict[str, Any], login: bool
) -> None:
    _, recording = made(network={"api_access": access})
    (plane,) = recording.of_type("gcp:container/cluster:Cluster")
    endpoints = plane.inputs["controlPlaneEndpointsConfig"]
    assert endpoints["dnsEndpointConfig"]["allowExternalTraffic"] is login
    assert endpoints["ipEndpointsConfig"]["enabled"] is not login
    (provider,) = recording.of_type("pulumi:providers:kubernetes")
    assert provider.inputs["kubeconfig"] == MASK


def test_the_bill_is_the_sum_of_what_idles() -> None:
    settings = settings_of("gcp")
    found = bill(settings, numbers_by_type(recording_of("gcp")))  # type: ignore[arg-type]
    lines = {line.what: line.usd_per_month for line in found.fixed}
    assert lines["GKE control plane, zonal"] == 73.0
    assert lines["Managers, e2-standard-2"] == pytest.approx(2 * 0.06701 * 730, abs=0.01)
    assert lines["Filestore, basic-hdd"] == 16.0
    assert lines["NAT gateway, for the managers"] == pytest.approx(5.69, abs=0.01)
    assert found.usd_per_month == pytest.approx(sum(lines.values()), abs=0.01)
    prices = {pool.pool: (pool.spot_usd_per_hour, pool.most_nodes) for pool in found.pools}
    assert prices == {"l4-spot": (0.3973, 24), "t4-spot": (0.242, 24)}


def test_jobs_write_output_into_the_bucket_by_who_they_are(made: Made) -> None:
    """No more than the store at gs:// asks for: tests/train/test_store_faults.py."""
    cloud, recording = made(storage={**SHIPPED["storage"], "bucket": True})
    grants = [g.inputs for g in recording.of_type("gcp:storage/bucketIAMMember:BucketIAMMember")]
    assert {grant["role"]: grant.get("condition", {}).get("expression") for grant in grants} == {
        "roles/storage.objectViewer": None,
        "roles/storage.objectUser": (
            'resource.name.startsWith("projects/_/buckets/storage-bucket-objects/objects/output/")'
        ),
    }
    assert all(g["member"].endswith("/subject/ns/elastic-job/sa/default") for g in grants)
    assert cloud.job_credentials == METADATA_SERVER, "who they are, they ask there"


def test_jobs_without_a_bucket_have_no_identity(made: Made) -> None:
    cloud, recording = made()
    assert recording.of_type("gcp:storage/bucketIAMMember:BucketIAMMember") == []
    assert cloud.job_credentials is None
