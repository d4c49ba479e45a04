"""Google's REST APIs, read with the rights of whoever is logged in; in a pod, with the pod's.

google-auth and its session of requests are all that is needed: a few fields of five APIs are read,
and a client library for each of them would bring gRPC and 100 MB into the controller's image.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import google.auth
from google.auth.credentials import Credentials
from google.auth.exceptions import DefaultCredentialsError, GoogleAuthError, TransportError
from google.auth.transport.requests import AuthorizedSession
from requests import RequestException, Response
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

SCOPES: Final = ("https://www.googleapis.com/auth/cloud-platform",)
"""What may be asked for at all; the roles decide what is answered."""
SECONDS: Final = (5.0, 30.0)
"""To connect, and from one byte of the answer to the next."""
BUSY: Final = (429, 500, 502, 503, 504)
TRIES: Final = 4
LIMITS: Final = ("rateLimitExceeded", "userRateLimitExceeded")
"""Compute Engine says with a 403 that one asks too often."""
Document = dict[str, Any]


class GoogleError(Exception):
    """A question that was not answered. `code`: Google's word, or NoCredentials, Unreachable."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


def endpoint(service: str) -> str:
    return f"https://{service}.googleapis.com"


def connect() -> "Google":
    """Raises GoogleError: nobody is logged in."""
    try:
        credentials, _ = google.auth.default(scopes=SCOPES)
    except DefaultCredentialsError as error:
        raise GoogleError("NoCredentials", line(str(error))) from error
    return Google(credentials)


class Google:
    """Calls that are tried again where a server is busy."""

    def __init__(
        self,
        credentials: Credentials,
        *,
        endpoint: Callable[[str], str] = endpoint,
        pause_seconds: float = 0.5,
    ) -> None:
        """pause_seconds: before a question is asked for the third time; it doubles then."""
        retry = Retry(
            total=TRIES - 1,
            status_forcelist=BUSY,
            backoff_factor=pause_seconds,
            raise_on_status=False,
        )
        self._endpoint = endpoint
        self._session = AuthorizedSession(credentials)  # type: ignore[no-untyped-call]
        for scheme in ("https://", "http://"):
            self._session.mount(scheme, HTTPAdapter(max_retries=retry))

    def get(self, service: str, path: str, **parameters: str) -> Document:
        """Raises GoogleError."""
        return self._ask("GET", service, path, parameters)

    def post(self, service: str, path: str, **parameters: str) -> Document:
        """Sent once, unless it did not arrive. Raises GoogleError."""
        return self._ask("POST", service, path, parameters)

    def _ask(self, method: str, service: str, path: str, parameters: Mapping[str, str]) -> Document:
        url = f"{self._endpoint(service)}/{path}"
        try:
            answer: Response = self._session.request(  # type: ignore[no-untyped-call]
                method, url, params=parameters, timeout=SECONDS
            )
            if not answer.ok:
                raise _refusal(answer)
            document: Document = answer.json()
        except (TransportError, RequestException) as error:
            raise GoogleError("Unreachable", line(str(error))) from error
        except GoogleAuthError as error:
            raise GoogleError("NoCredentials", line(str(error))) from error
        return document

    def pages(
        self, service: str, path: str, field: str, **parameters: str
    ) -> Iterator[list[Document]]:
        """Lists of what each page has under `field`. Raises GoogleError."""
        token: dict[str, str] = {}
        while True:
            page = self.get(service, path, **parameters, **token)
            yield page.get(field) or []
            if not page.get("nextPageToken"):
                return
            token = {"pageToken": str(page["nextPageToken"])}


def line(text: str) -> str:
    return " ".join(text.split())


def _refusal(answer: Response) -> GoogleError:
    try:
        told = answer.json()["error"]
        message = line(str(told.get("message") or answer.reason))
    except (ValueError, LookupError, TypeError, AttributeError):
        return GoogleError(_code(answer.status_code, ()), line(str(answer.reason)))
    reasons = [
        str(each.get("reason", ""))
        for each in (*(told.get("details") or ()), *(told.get("errors") or ()))
    ]
    return GoogleError(_code(answer.status_code, reasons), message)


def _code(status: int, reasons: Sequence[str]) -> str:
    """One word for each kind of refusal; the APIs differ in where they say it."""
    if status == 429 or any(reason in LIMITS for reason in reasons):
        return "RESOURCE_EXHAUSTED"
    if "SERVICE_DISABLED" in reasons or "accessNotConfigured" in reasons:
        return "SERVICE_DISABLED"
    known = {401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND"}
    return known.get(status, "UNAVAILABLE" if status >= 500 else f"HTTP {status}")
