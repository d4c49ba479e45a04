"""The archive of the cluster, reached by forwarding its port."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import httpx2

from spotrain import contract
from spotrain.archive.client import BASE_URL, TIMEOUT, Client
from spotrain.archive.errors import ArchiveError, FellSilent, NotFound, Refused, Unavailable
from spotrain.cli.cluster import Cluster
from spotrain.cli.errors import NO_CLUSTER, NOT_FOUND, USAGE, UserError
from spotrain.cli.listeners import private_listener
from spotrain.cli.port_forward import PortForward
from spotrain.kinds import PODS, Object

LABEL: Final = f"app.kubernetes.io/name={contract.ARCHIVE_NAME}"


class ArchiveAway(UserError):
    """The cluster is there, and its archive does not answer; the caller may do without."""

    def __init__(self, message: str) -> None:
        super().__init__(message, exit_code=NO_CLUSTER)


@contextmanager
def archive_of(cluster: Cluster) -> Iterator[Client]:
    """Raises UserError, for whatever goes wrong in the context too; only FellSilent stays."""
    pod = choose_pod(cluster.list_all(PODS, labels=LABEL), cluster.namespace)
    forward = PortForward(cluster.config, cluster.namespace, pod, contract.ARCHIVE_PORT)
    with private_listener() as (listener, path), forward.listening(listener):
        transport = httpx2.HTTPTransport(uds=str(path))
        with httpx2.Client(transport=transport, base_url=BASE_URL, timeout=TIMEOUT) as http:
            try:
                yield Client(http)
            except FellSilent:
                raise
            except Unavailable as error:
                raise ArchiveAway(str(error)) from None
            except ArchiveError as error:
                raise UserError(str(error), exit_code=_exit_code(error)) from None
            except httpx2.RequestError as error:
                if forward.problem:
                    raise ArchiveAway(forward.problem.message) from None
                raise ArchiveAway(
                    f"the archive has not answered: {error or type(error).__name__}. Try again; "
                    f"kubectl -n {cluster.namespace} logs deployment/{contract.ARCHIVE_NAME} "
                    "tells more."
                ) from None


def choose_pod(pods: list[Object], namespace: str) -> str:
    """The name of the one that serves. Raises UserError, with what is wrong with it."""
    staying = [pod for pod in pods if not pod["metadata"].get("deletionTimestamp")]
    for pod in staying:
        if pod.get("status", {}).get("phase") == "Running":
            name: str = pod["metadata"]["name"]
            return name
    if staying:
        phase = staying[0].get("status", {}).get("phase", "Pending")
        problem, look = f"its pod is {phase}", f"describe pod {staying[0]['metadata']['name']}"
    else:
        problem, look = "there is no pod of it", f"get deployment {contract.ARCHIVE_NAME}"
    raise ArchiveAway(
        f"the archive of namespace {namespace} does not run: {problem}. kubectl -n {namespace} "
        f"{look} tells why."
    )


def _exit_code(error: ArchiveError) -> int:
    if isinstance(error, NotFound):
        return NOT_FOUND
    return USAGE if isinstance(error, Refused) else NO_CLUSTER
