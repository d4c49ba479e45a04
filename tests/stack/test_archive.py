"""The archive's pod: what it may, who reaches it, and that it starts as its settings say."""

from typing import Any, get_args

import pytest

from components.platform import job_network
from spotrain import contract
from spotrain.archive.retention import Retention
from spotrain.archive.settings import Settings
from spotrain.controller.network import build_network_policy
from spotrain.controller.network import labels as labels_of
from spotrain.controller.variables import SettingsError
from stacks.platform_schema import Archive
from stacks.recorder import Recording
from tests.controller.builders import job
from tests.stack.network_model import Place, Policy, may_connect
from tests.stack.platform_parts import JOBS, archive, job_namespace

DEPLOYMENT = "kubernetes:apps/v1:Deployment"
POLICY = "kubernetes:networking.k8s.io/v1:NetworkPolicy"
LABELS = {"app.kubernetes.io/name": contract.ARCHIVE_NAME}
ARCHIVE = Place(namespace=JOBS, labels=LABELS)
DIGITS = job()
WORKER = Place(namespace=JOBS, labels=labels_of(DIGITS))


@pytest.fixture(scope="module")
def recording() -> Recording:
    return archive()


@pytest.fixture(scope="module")
def pod(recording: Recording) -> dict[str, Any]:
    (deployment,) = recording.of_type(DEPLOYMENT)
    template: dict[str, Any] = deployment.inputs["spec"]["template"]
    return template


def policies_of(made: Recording) -> list[Policy]:
    return [resource.inputs for resource in made.of_type(POLICY)]


@pytest.mark.parametrize("egress", get_args(job_network.Egress))
def test_no_pod_reaches_the_archive(recording: Recording, egress: job_network.Egress) -> None:
    policies = [
        *policies_of(job_namespace(egress=egress)),
        *policies_of(recording),
        build_network_policy(DIGITS),
    ]
    others = [
        WORKER,
        ARCHIVE,
        Place(namespace=JOBS),
        Place(namespace=contract.SYSTEM_NAMESPACE),
        Place(namespace=contract.MONITORING_NAMESPACE),
        Place(address="10.0.0.5"),
    ]
    for other in others:
        assert not may_connect(policies, other, ARCHIVE, port=contract.ARCHIVE_PORT)
    server = Place(address="10.0.0.7")
    assert may_connect(policies, ARCHIVE, server, port=443)
    assert not may_connect(policies, WORKER, server, port=443) or egress == "all"


def test_it_listens_on_its_loopback_and_on_nothing_else(pod: dict[str, Any]) -> None:
    """Whatever becomes of the policies: nobody else is on that interface."""
    (container,) = pod["spec"]["containers"]
    assert "ports" not in container
    assert not pod["spec"].get("hostNetwork")
    environment = {one["name"]: one["value"] for one in container["env"]}
    assert environment[contract.ENV_JOB_NAMESPACE] == JOBS
    assert Settings.read(environment).address == "127.0.0.1"
    with pytest.raises(SettingsError, match="its own loopback only"):
        Settings.read({**environment, "SPOTRAIN_ARCHIVE_ADDRESS": "0.0.0.0"})


def test_it_keeps_what_the_stack_file_says_and_no_longer(pod: dict[str, Any]) -> None:
    (container,) = pod["spec"]["containers"]
    environment = {one["name"]: one["value"] for one in container["env"]}
    wanted = Retention(log_days=7, logs_gib=3, ledger_days=None)
    assert Settings.read(environment).retention == wanted
    assert Retention(**Archive().model_dump()) == Retention()
    for name in set(environment) - {contract.ENV_JOB_NAMESPACE}:
        with pytest.raises(SettingsError, match=f"{name}='0' is no number of"):
            Settings.read({**environment, name: "0"})


def test_its_settings_are_where_its_volumes_are_mounted(pod: dict[str, Any]) -> None:
    (container,) = pod["spec"]["containers"]
    mounts = {one["mountPath"]: one for one in container["volumeMounts"]}
    settings = Settings(namespace=JOBS)
    assert set(mounts) == {str(settings.folder), str(settings.output), "/tmp"}
    assert mounts[str(settings.output)]["subPath"] == contract.OUTPUT_DIR
    claims = {
        one["name"]: one["persistentVolumeClaim"]["claimName"]
        for one in pod["spec"]["volumes"]
        if "persistentVolumeClaim" in one
    }
    assert claims[mounts[str(settings.folder)]["name"]] == contract.ARCHIVE_CLAIM
    assert claims[mounts[str(settings.output)]["name"]] == contract.VOLUME_CLAIM


def test_a_volume_that_hangs_does_not_end_it(pod: dict[str, Any]) -> None:
    (container,) = pod["spec"]["containers"]
    alive = container["livenessProbe"]["exec"]["command"]
    ready = container["readinessProbe"]["exec"]["command"]
    assert alive == [*ready, "--alive"]


def test_one_writes_at_a_time(recording: Recording) -> None:
    (deployment,) = recording.of_type(DEPLOYMENT)
    assert deployment.inputs["spec"]["replicas"] == 1
    assert deployment.inputs["spec"]["strategy"] == {"type": "Recreate"}
