"""A pod's manifest as a process of this machine."""

from pathlib import Path
from typing import Any

import pytest

from spotrain.local.image import Image, Launch, NotLocal, plan_launch

IMAGE = Image(workdir=Path("/scripts"), entrypoint=("run-it",))
FIELDS = {"status.podIP": "127.0.0.1"}


def launch(container: dict[str, Any], volumes: dict[str, Path] | None = None) -> Launch:
    manifest = {
        "spec": {
            "containers": [{"name": "elasticjob-worker", **container}],
            "volumes": [{"name": "files", "persistentVolumeClaim": {"claimName": "efs"}}],
        }
    }
    return plan_launch(
        manifest, image=IMAGE, volumes=volumes or {}, fields=FIELDS, extra={"MORE": "1"}
    )


def test_without_a_command_the_images_entry_point_runs_in_its_folder() -> None:
    planned = launch({"args": ["train.py", "--lr", "0.1"]})
    assert planned.command == ("run-it", "train.py", "--lr", "0.1")
    assert planned.workdir == Path("/scripts")


def test_a_command_replaces_the_entry_point() -> None:
    assert launch({"command": ["python"], "args": ["x.py"]}).command == ("python", "x.py")


def test_mount_paths_become_the_claims_folder_wherever_a_path_can_stand() -> None:
    mounts = [{"name": "files", "mountPath": "/mnt/efs"}]
    words = ["--out=/mnt/efs/out", "/mnt/efs", "/mnt/efsx", "a:/mnt/efs/b"]
    planned = launch({"args": words, "volumeMounts": mounts}, {"efs": Path("/here")})
    assert planned.command[1:] == ("--out=/here/out", "/here", "/mnt/efsx", "a:/here/b")


def test_variables_are_filled_in_as_kubernetes_does() -> None:
    variables = [
        {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        {"name": "URL", "value": "http://$(IP):1"},
    ]
    planned = launch({"env": variables, "args": ["$(URL)", "$(UNKNOWN)"]})
    assert planned.environment["URL"] == "http://127.0.0.1:1"
    assert planned.command[1:] == ("http://127.0.0.1:1", "$(UNKNOWN)")
    assert planned.environment["MORE"] == "1"


def test_a_claim_without_a_folder_is_refused_with_the_option_to_give() -> None:
    with pytest.raises(NotLocal, match=r"'efs' has no folder.*--volume efs=FOLDER"):
        launch({"volumeMounts": [{"name": "files", "mountPath": "/mnt/efs"}]})


def test_a_secret_is_refused_by_name() -> None:
    secret = {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}
    with pytest.raises(NotLocal, match="KEY takes its value from"):
        launch({"env": [secret]})
