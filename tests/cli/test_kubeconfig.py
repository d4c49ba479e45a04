"""Which files are the kubeconfig, and what they say together, as kubectl reads them."""

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from spotrain.cli import kubeconfig
from spotrain.cli.errors import NO_CLUSTER, UserError
from spotrain.cli.kubeconfig import read_config


def write(
    folder: Path, name: str, *, user: dict[str, Any] | None = None, current: str | None = None
) -> str:
    """A file of one context, which has its name; the cluster's server tells the file."""
    folder.mkdir(exist_ok=True)
    path = folder / "config"
    cluster = {"server": f"https://{folder.name}", "certificate-authority": "ca.crt"}
    content: dict[str, Any] = {
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": name, "user": user or {"token": "secret"}}],
    }
    path.write_text(
        yaml.safe_dump({**content, **({"current-context": current} if current else {})})
    )
    return str(path)


@pytest.fixture
def env(monkeypatch: pytest.MonkeyPatch) -> Any:
    return lambda *paths: monkeypatch.setenv("KUBECONFIG", os.pathsep.join(paths))


@pytest.fixture
def pod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home folder, in a pod that has a service account."""
    account = tmp_path / "serviceaccount"
    account.mkdir()
    for name in ("token", "namespace", "ca.crt"):
        (account / name).write_text(name)
    monkeypatch.setattr(kubeconfig, "SERVICE_ACCOUNT", str(account))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.mark.parametrize("value", ["{}", ":{}", "{}:"])
def test_a_file_that_is_named_counts_in_a_pod_too(
    value: str, pod: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", value.format(write(tmp_path / "a", "one", current="one")))
    assert read_config(None).cluster.server == "https://a"


@pytest.mark.parametrize("value", [None, "", ":"])
def test_where_none_is_named_it_is_that_of_the_home_folder_before_the_pods_own(
    value: str | None, pod: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    if value is not None:
        monkeypatch.setenv("KUBECONFIG", value)
    assert read_config(None).cluster.server == "https://10.0.0.1:443"
    pod.mkdir()
    write(pod / ".kube", "mine", current="mine")
    assert read_config(None).context_name == "mine"
    (pod / ".kube" / "config").unlink()
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST")
    with pytest.raises(UserError, match="names no file, and there is no ~/") as caught:
        read_config(None)
    assert caught.value.exit_code == NO_CLUSTER


def test_a_single_file_that_is_not_there_is_told(env: Any, tmp_path: Path) -> None:
    env("", str(tmp_path / "nowhere"))
    with pytest.raises(UserError, match=f"{tmp_path}/nowhere not found") as caught:
        read_config(None)
    assert caught.value.exit_code == NO_CLUSTER


def test_contexts_of_all_files_are_there_and_the_first_current_one_counts(
    env: Any, tmp_path: Path
) -> None:
    first, second = write(tmp_path / "a", "one"), write(tmp_path / "b", "two", current="two")
    third = write(tmp_path / "c", "three", current="three")
    env(first, second, third)
    assert read_config(None).context_name == "two"
    assert read_config("one").cluster.server == "https://a"
    assert read_config("three").cluster.server == "https://c"


def test_the_first_file_that_has_a_name_says_what_it_means(env: Any, tmp_path: Path) -> None:
    env(write(tmp_path / "a", "one", current="one"), write(tmp_path / "b", "one"))
    assert read_config(None).cluster.server == "https://a"


def test_files_that_are_not_there_are_passed_over(env: Any, tmp_path: Path) -> None:
    env(str(tmp_path / "nowhere"), "", write(tmp_path / "a", "one", current="one"))
    assert read_config(None).context_name == "one"
    env(str(tmp_path / "nowhere"), str(tmp_path / "neither"))
    with pytest.raises(UserError, match="none of the files of KUBECONFIG is there") as caught:
        read_config(None)
    assert caught.value.exit_code == NO_CLUSTER


def test_paths_are_those_beside_their_own_file(env: Any, tmp_path: Path) -> None:
    login = {"apiVersion": "client.authentication.k8s.io/v1", "command": "bin/login"}
    user = {"client-certificate": "me.crt", "client-key": "/keys/me.key", "exec": login}
    env(write(tmp_path / "a", "one", current="one"), write(tmp_path / "b", "two", user=user))
    found = read_config("two")
    assert found.cluster.certificate_auth == str(tmp_path / "b/ca.crt")
    assert found.user
    assert (found.user.client_cert, found.user.client_key) == (
        str(tmp_path / "b/me.crt"),
        "/keys/me.key",
    )
    assert found.user.exec
    assert found.user.exec.command == str(tmp_path / "b/bin/login")


def test_a_file_among_several_that_is_none_is_told(env: Any, tmp_path: Path) -> None:
    (tmp_path / "spoilt").write_text("a: [")
    env(write(tmp_path / "a", "one", current="one"), str(tmp_path / "spoilt"))
    with pytest.raises(UserError, match="cannot be read as YAML"):
        read_config(None)
