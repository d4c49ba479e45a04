"""The way to a cluster: what keeps a request from its answer, as a UserError."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from urllib.parse import urlsplit

import httpx2
from lightkube.core.exceptions import ConfigError

from spotrain.cli.errors import NO_CLUSTER, UserError
from spotrain.cli.kubeconfig import NEXT
from spotrain.cli.refusals import NotAnswering

UNNAMED: Final = "its address"


def address_of(url: str) -> str:
    """A server as messages name it: scheme, host and port. A kubeconfig may have a secret in all
    that is around them; where that cannot be told apart, the server is not named."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises where it is none: a password with a "/" ends the host too early
    except ValueError:
        return UNNAMED
    rest = f"{parts.path}{parts.query}{parts.fragment}"
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in rest:
        return UNNAMED
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


@contextmanager
def reached(server: str) -> Iterator[None]:
    """Around a request and the reading of its answer."""
    problem: UserError
    try:
        yield
    except httpx2.TimeoutException:
        problem = NotAnswering(
            f"the cluster at {server} does not answer. Is there a way to it (VPN)? {NEXT}"
        )
    except (httpx2.RequestError, httpx2.InvalidURL, OSError) as error:
        problem = NotAnswering(f"the cluster at {server} cannot be reached: {error}. {NEXT}")
    else:
        return
    raise problem from None


@contextmanager
def logged_in(server: str) -> Iterator[None]:
    """Around the sending of a request, which may ask a program for credentials first."""
    try:
        yield
    except FileNotFoundError as error:
        said = (
            f"the kubeconfig asks a program for them, {error.filename}, that is not there. "
            "Install it, or put it on the PATH."
        )
    except ConfigError as error:  # raised by the program that fetches the credentials
        said = f"{' '.join(str(error).split())}. Log in again."
    except httpx2.LocalProtocolError:  # whose words are the header, token and all
        said = "the kubeconfig's token has a line feed, or what else no header may hold. Mend it."
    except (ValueError, LookupError, TypeError) as error:
        said = f"what the kubeconfig has for them makes no token ({error}). Log in again."
    else:
        return
    raise UserError(
        f"no credentials for the cluster at {server}: {said}", exit_code=NO_CLUSTER
    ) from None
