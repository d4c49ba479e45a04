"""The kubeconfig of the person at the terminal, read as kubectl reads it."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

import msgspec
import yaml
from lightkube.config.kubeconfig import (
    DEFAULT_KUBECONFIG,
    SERVICE_ACCOUNT,
    KubeConfig,
    SingleConfig,
    to_mapping,
)
from lightkube.config.models import Cluster, User
from lightkube.core.exceptions import ConfigError
from yaml import MarkedYAMLError, YAMLError

from spotrain.cli.errors import NO_CLUSTER, UserError

EXEC_V1: Final = "client.authentication.k8s.io/v1"
EXEC_KNOWN: Final = "client.authentication.k8s.io/v1beta1"
"""The two differ in nothing that is read of them, and lightkube knows this one only."""
NEXT: Final = "Name one by --context or KUBECONFIG, or use --local for the jobs on this machine."


class RoutedCluster(Cluster):
    """With what lightkube passes over: the way to a server that cannot be reached straight."""

    proxy: str | None = msgspec.field(name="proxy-url", default=None)
    """Of HTTP or SOCKS5; None: those of the environment count."""
    server_name: str | None = msgspec.field(name="tls-server-name", default=None)
    """By which its certificate is judged, where that is not its address."""


def read_config(context: str | None) -> SingleConfig:
    """The context of that name; None: the current one. Raises UserError where there is none."""
    try:
        found = _read_all().get(context)
    except ConfigError as error:
        raise _unusable(error) from None
    except OSError as error:
        raise _unusable(f"{error.filename}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise _unusable("it is no UTF-8 text") from None
    except YAMLError as error:
        raise _unusable(f"it cannot be read as YAML{_place(error)}") from None
    except KeyError as error:
        raise _unusable(f"it has no {error}") from None
    except Exception:  # lightkube takes the form of the file for granted
        raise _unusable("it has not the form of one") from None
    if found is None:
        raise UserError(f"no cluster: the kubeconfig names none. {NEXT}", exit_code=NO_CLUSTER)
    if found.user and found.user.exec and found.user.exec.apiVersion == EXEC_V1:
        found.user.exec.apiVersion = EXEC_KNOWN
    return found


def _place(error: YAMLError) -> str:
    """What is wrong where; the error's own words have the line at fault, which may hold a token."""
    if isinstance(error, MarkedYAMLError) and error.problem_mark:
        return f": {error.problem} in line {error.problem_mark.line + 1}"
    return ""


def _unusable(problem: object) -> UserError:
    said = " ".join(str(problem).split())
    return UserError(
        f"no cluster: the kubeconfig cannot be used: {said}. {NEXT}", exit_code=NO_CLUSTER
    )


def _read_all() -> KubeConfig:
    """KUBECONFIG may name several files, as PATH does folders: those that are there count. Where
    it names none it is the file of the home folder, and without that a pod's service account."""
    names = [name for name in os.environ.get("KUBECONFIG", "").split(os.pathsep) if name]
    if not names:
        return _read_default()
    if len(names) == 1:
        return _read_file(names[0])
    there = [name for name in names if Path(name).expanduser().is_file()]
    if not there:
        raise ConfigError(f"none of the files of KUBECONFIG is there: {', '.join(names)}")
    return merge(_read_file(name) for name in there)


def _read_file(name: str) -> KubeConfig:
    path = Path(name).expanduser()
    if os.path.isdir(path):
        raise ConfigError(f"{name} is a folder, and a file is needed")
    if not os.path.exists(path):
        raise ConfigError(f"{name} not found")
    document = yaml.safe_load(path.read_text())
    if document is None:
        raise ConfigError(f"{name} is empty")
    config = KubeConfig.from_dict(document, fname=path)
    config.clusters = to_mapping(document["clusters"], "cluster", factory=RoutedCluster)
    return config


def route_to(cluster: Cluster) -> RoutedCluster:
    """A pod's own service account names no way: it is straight."""
    return cluster if isinstance(cluster, RoutedCluster) else RoutedCluster(server=cluster.server)


def _read_default() -> KubeConfig:
    if Path(DEFAULT_KUBECONFIG).expanduser().is_file():
        return _read_file(DEFAULT_KUBECONFIG)
    if "KUBERNETES_SERVICE_HOST" in os.environ and Path(SERVICE_ACCOUNT, "token").is_file():
        return KubeConfig.from_service_account(SERVICE_ACCOUNT)
    raise ConfigError(f"KUBECONFIG names no file, and there is no {DEFAULT_KUBECONFIG}")


def merge(configs: Iterable[KubeConfig]) -> KubeConfig:
    """One of several, each name as the first file has it that has one (kubernetes.io/docs/
    concepts/configuration/organize-cluster-access-kubeconfig).

    Paths in a file are relative to it, so they become absolute.
    """
    merged = KubeConfig(clusters={}, contexts={}, users={})
    for config in configs:
        assert config.fname, "it was read from a file"
        folder = config.fname.absolute().parent
        for cluster in config.clusters.values():
            _anchor_cluster(cluster, folder)
        for user in config.users.values():
            _anchor_user(user, folder)
        merged.clusters = {**config.clusters, **merged.clusters}
        merged.contexts = {**config.contexts, **merged.contexts}
        merged.users = {**config.users, **merged.users}
        merged.current_context = merged.current_context or config.current_context or None
    return merged


def _anchor_cluster(cluster: Cluster, folder: Path) -> None:
    cluster.certificate_auth = _anchored(folder)(cluster.certificate_auth)


def _anchor_user(user: User, folder: Path) -> None:
    anchored = _anchored(folder)
    user.client_cert = anchored(user.client_cert)
    user.client_key = anchored(user.client_key)
    user.token_file = anchored(user.token_file)
    if user.exec and os.sep in user.exec.command:
        user.exec.command = str(folder / user.exec.command)


def _anchored(folder: Path) -> Callable[[str | None], str | None]:
    return lambda path: str(folder / path) if path else path
