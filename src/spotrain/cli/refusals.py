"""What the API server's refusal means to a researcher: one line, and what to do next."""

import re
from dataclasses import dataclass
from typing import Any

from spotrain import contract
from spotrain.cli.errors import CONFLICT, NO_CLUSTER, NOT_FOUND, USAGE, UserError
from spotrain.kinds import Kind


class NotThere(UserError):
    """The object of that name does not exist; the caller may know near names."""

    def __init__(self, message: str) -> None:
        super().__init__(message, exit_code=NOT_FOUND)


class Taken(UserError):
    """It exists already, or it was changed in between."""

    def __init__(self, message: str) -> None:
        super().__init__(message, exit_code=CONFLICT)


class NotAnswering(UserError):
    """Nothing was decided: whoever can wait may ask again."""

    def __init__(self, message: str) -> None:
        super().__init__(message, exit_code=NO_CLUSTER)


class NotAllowed(UserError):
    """This person may not; the caller may do without."""

    def __init__(self, message: str) -> None:
        super().__init__(message, exit_code=NO_CLUSTER)


@dataclass(frozen=True)
class Request:
    """What was asked of the API server."""

    method: str
    kind: Kind
    namespace: str
    name: str = ""
    server: str = ""
    subresource: str = ""

    @property
    def what(self) -> str:
        named = f"{self.kind.plural} {self.name!r}" if self.name else self.kind.plural
        return f"{named} in namespace {self.namespace!r}" if self.namespace else named


def refuse_paths(request: Request) -> None:
    """Names that lead elsewhere: the API server decodes a path before it takes it apart.

    Raises NotThere, since nothing can have such a name.
    """
    if _leads_elsewhere(request.namespace):
        raise _no_namespace(request.namespace)
    if _leads_elsewhere(request.name):
        raise NotThere(f"there is no {request.what}.")


def _leads_elsewhere(name: str) -> bool:
    return "/" in name or name in (".", "..")


def _no_namespace(name: str) -> NotThere:
    return NotThere(f"the cluster has no namespace {name!r}; name that of the jobs by --namespace.")


def refusal(request: Request, status: int, body: Any) -> UserError:
    """`body` is the answer: a Status object, or whatever stands in front of the server says."""
    message = _message(body)
    match status:
        case 401:
            return UserError(
                f"the cluster at {request.server} does not accept these credentials (401): they "
                "have expired or were never valid. Log in again, or name another --context.",
                exit_code=NO_CLUSTER,
            )
        case 403:
            return _forbidden(request, message)
        case 404 if request.name and f'"{request.name}" not found' in message:
            return NotThere(f"there is no {request.what}.")
        case 404 if found := re.search(r'namespaces "([^"]+)" not found', message):
            return _no_namespace(found[1])
        case 404:
            return UserError(
                f"the cluster at {request.server} does not know {request.kind.plural}: is the "
                "platform installed in it? See the README, 'Put it on AWS', or name another "
                "--context.",
                exit_code=NO_CLUSTER,
            )
        case 409 if request.method == "POST" and not request.subresource:
            return Taken(f"there is already one of the name: {request.what}.")
        case 409:
            return Taken(f"{request.what} was changed by somebody else meanwhile; try again.")
        case 429 if request.subresource == "eviction":
            return UserError(
                f"{request.what} may not be evicted now: its disruption budget allows no fewer "
                "workers (podDisruptionBudget and minReplicas of the job). Wait until all of its "
                "workers train, or scale it up.",
                exit_code=CONFLICT,
            )
        case 400 | 422:
            return UserError(f"the API server refuses {request.what}: {message}", exit_code=USAGE)
    return NotAnswering(
        f"the API server at {request.server} answers {status}: {message or 'nothing'}. It may be "
        "starting or overloaded; try again in a minute."
    )


def _message(body: Any) -> str:
    if isinstance(body, dict):
        return " ".join(str(body.get("message", "")).split())
    return " ".join(str(body).split())[:200]


def _forbidden(request: Request, message: str) -> UserError:
    """Rights are an administrator's business; quotas and policies speak to the researcher."""
    right = re.search(r'User "([^"]*)" cannot (\w+) resource "([^"]+)"', message)
    if right is None:
        return UserError(f"the API server refuses {request.what}: {message}", exit_code=USAGE)
    user, verb, resource = right.groups()
    where = f" in namespace {request.namespace!r}" if request.namespace else ""
    return NotAllowed(
        f"{user or 'this user'} may not {verb} {resource}{where}. Ask the administrator for "
        f"membership of the group {contract.RESEARCHERS_GROUP} (k8s/researchers.yaml), which has "
        "this right in the namespace of the jobs."
    )
