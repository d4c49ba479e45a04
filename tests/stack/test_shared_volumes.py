"""Every kind of volume becomes a claim that jobs mount, with the folders that it promises."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pulumi_kubernetes as k8s
import pytest

from components.cloud import (
    ClassVolume,
    CsiVolume,
    HostPathVolume,
    NfsVolume,
    Volume,
    VolumeSource,
)
from components.platform.shared_volumes import MAKE_FOLDERS, SharedVolumes, SharedVolumesArgs
from spotrain import contract
from stacks.platform_schema import PlatformSettings
from stacks.recorder import Recording, Registration

CLAIM = "kubernetes:core/v1:PersistentVolumeClaim"
VOLUME = "kubernetes:core/v1:PersistentVolume"
JOB = "kubernetes:batch/v1:Job"
CSI = CsiVolume(
    driver="csi.example", handle="fs::point", attributes={"a": "b"}, mount_options=["tls"]
)
NFS = NfsVolume(server="files.example", path="/exported")
HOST = HostPathVolume(path="/var/local/spotrain")
CLASS = ClassVolume(storage_class="many-nodes", size_gib=50)


def volume(source: VolumeSource, claim: str = "efs", *folders: str) -> Volume:
    return Volume(claim=claim, source=source, mount=f"/mnt/{claim}", folders=folders)


@pytest.fixture
def built(build: Any) -> Any:
    """What the volumes become in the namespace `mine`."""

    def run(*volumes: Volume) -> Recording:
        def program() -> None:
            args = SharedVolumesArgs(
                namespace="mine",
                volumes=volumes,
                image="controller@sha256:0",
                kubernetes=k8s.Provider("kube"),
                after=(),
            )
            SharedVolumes("shared", args)

        recording: Recording = build(program)
        return recording

    return run


@pytest.mark.parametrize(
    ("source", "said"),
    [
        pytest.param(
            CSI,
            {
                "csi": {
                    "driver": "csi.example",
                    "volumeHandle": "fs::point",
                    "volumeAttributes": {"a": "b"},
                },
                "mountOptions": ["tls"],
            },
            id="csi",
        ),
        pytest.param(NFS, {"nfs": {"server": "files.example", "path": "/exported"}}, id="nfs"),
        pytest.param(
            HOST,
            {"hostPath": {"path": "/var/local/spotrain", "type": "DirectoryOrCreate"}},
            id="host-path",
        ),
    ],
)
def test_a_static_volume_and_its_claim_name_each_other(
    built: Any, find: Any, source: VolumeSource, said: dict[str, Any]
) -> None:
    recording = built(volume(source))
    spec = find.one(recording, VOLUME).inputs["spec"]
    claim = find.one(recording, CLAIM).inputs
    assert claim["metadata"] == {"name": "efs", "namespace": "mine"}
    assert claim["spec"]["volumeName"] == "shared-volume-efs"
    assert claim["spec"]["storageClassName"] == spec["storageClassName"] == ""
    assert (spec["claimRef"]["namespace"], spec["claimRef"]["name"]) == ("mine", "efs")
    assert spec["persistentVolumeReclaimPolicy"] == "Retain"
    assert said.items() <= spec.items()
    assert len(spec.keys() & {"csi", "nfs", "hostPath"}) == 1


def test_a_volume_is_made_anew_when_its_claim_moves_to_another_namespace(
    built: Any, find: Any
) -> None:
    """A volume that was bound once is bound to no other claim, and the new one would wait."""
    made: Registration = find.one(built(volume(NFS)), VOLUME)
    assert made.replace_on_changes == ("spec.claimRef",)


def test_a_storage_class_makes_the_volume_in_the_size_asked_for(built: Any, find: Any) -> None:
    recording = built(volume(CLASS))
    assert recording.of_type(VOLUME) == []
    spec = find.one(recording, CLAIM).inputs["spec"]
    assert spec == {
        "accessModes": ["ReadWriteMany"],
        "storageClassName": "many-nodes",
        "resources": {"requests": {"storage": "50Gi"}},
    }


def test_every_volume_has_a_claim_of_its_own_and_those_with_folders_a_job(
    built: Any, find: Any
) -> None:
    recording = built(volume(NFS, "efs", "data", "output"), volume(CSI, "bucket"))
    assert {claim.name for claim in recording.of_type(CLAIM)} == {
        "shared-claim-efs",
        "shared-claim-bucket",
    }
    job = find.one(recording, JOB).inputs
    pod = job["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["args"] == ["/mnt/efs/data", "/mnt/efs/output"]
    assert pod["volumes"][0]["persistentVolumeClaim"] == {"claimName": "efs"}
    assert container["volumeMounts"] == [{"name": "shared", "mountPath": "/mnt/efs"}]


def test_the_job_can_be_replaced_while_the_old_one_is_there_and_is_never_gone_by_itself(
    built: Any, find: Any
) -> None:
    """A Job's template cannot be changed, so a new image is a new Job, made before the old goes."""
    job = find.one(built(volume(NFS, "efs", "data")), JOB).inputs
    assert "name" not in job["metadata"]
    assert "ttlSecondsAfterFinished" not in job["spec"]
    assert job["metadata"]["annotations"] == {"pulumi.com/replaceUnready": "true"}


def run_script(*folders: Path, before: str = "") -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", before + MAKE_FOLDERS, *map(str, folders)],
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_script_makes_folders_and_leaves_those_that_are_there(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "kept").touch()
    done = run_script(tmp_path / "data", tmp_path / "output")
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "data" / "kept").exists()
    assert (tmp_path / "output").is_dir()


def test_the_script_says_what_to_do_where_it_may_not_write(tmp_path: Path) -> None:
    """Only the owner of the volume can change that: file servers refuse even root."""
    tmp_path.chmod(0o555)
    user = os.getuid() or contract.JOB_UID
    done = run_script(tmp_path / "data", before=f"import os; os.setuid({user})\n")
    tmp_path.chmod(0o755)
    assert done.returncode == 1
    said = f"user {user} may not write to {tmp_path}/data. Next: "
    assert done.stderr.startswith(said)
    assert f"chown {user}" in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_programs_first_claim_is_the_contracts(
    recording: Recording, settings: PlatformSettings, find: Any
) -> None:
    claim = find.one(recording, CLAIM, f"shared-claim-{contract.VOLUME_CLAIM}").inputs
    assert claim["metadata"] == {
        "name": contract.VOLUME_CLAIM,
        "namespace": settings.jobs.namespace,
    }
    job = find.one(recording, JOB, f"shared-folders-{contract.VOLUME_CLAIM}").inputs
    (container,) = job["spec"]["template"]["spec"]["containers"]
    folders = (contract.DATA_DIR, contract.OUTPUT_DIR)
    assert container["args"] == [f"{contract.VOLUME_MOUNT}/{folder}" for folder in folders]
    assert job["spec"]["template"]["spec"]["securityContext"]["runAsUser"] == contract.JOB_UID
