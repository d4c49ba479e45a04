"""A cluster, as the person of a kubeconfig's context may see it. Every error is a UserError."""

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final

import httpx2
from lightkube.config import client_adapter
from lightkube.config.kubeconfig import SingleConfig
from lightkube.core.exceptions import ConfigError

from spotrain import contract
from spotrain.cli.errors import NO_CLUSTER, UserError
from spotrain.cli.kubeconfig import NEXT, read_config, route_to
from spotrain.cli.reach import address_of, logged_in, reached
from spotrain.cli.refusals import NotAnswering, Request, refusal, refuse_paths
from spotrain.kinds import PODS, Kind, Object

REQUEST_SECONDS: Final = 15.0
CONNECT_SECONDS: Final = 5.0
WATCH_SECONDS: Final = 300
"""After which the server ends a watch."""
SILENT_SECONDS: Final = WATCH_SECONDS + REQUEST_SECONDS
"""A watch in which nothing has come for so long has lost its server: the end would have come. Of a
connection that a NAT dropped, or that a laptop slept through, nothing else is heard."""
PAGE: Final = 500
JSON: Final = "application/json"
METADATA: Final = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
"""Names, labels and moments alone: a fiftieth of the bytes of jobs' documents."""
TABLE: Final = "application/json;as=Table;v=v1;g=meta.k8s.io"
"""The kind's columns, picked by the server, and of each object its metadata."""
FIELD_MANAGER: Final = "spotrain"


@dataclass(frozen=True)
class Cluster:
    """One cluster and the namespace of the jobs in it. Objects pass as the JSON they are."""

    http: httpx2.Client
    server: str
    """As messages name it."""
    namespace: str
    config: SingleConfig
    """Of the kubeconfig, for what is no request of HTTP: forwarded ports."""

    def get(self, kind: Kind, name: str, *, namespace: str | None = None) -> Object:
        """`namespace`: None is that of the jobs, empty for kinds without one."""
        return self._ask("GET", kind, self._place(namespace), name)

    def list_all(
        self,
        kind: Kind,
        *,
        namespace: str | None = None,
        labels: str = "",
        fields: str = "",
    ) -> list[Object]:
        """All objects of a kind; `labels` and `fields` are selectors."""
        return self.list_versioned(kind, namespace=namespace, labels=labels, fields=fields)[0]

    def list_versioned(
        self, kind: Kind, *, namespace: str | None = None, labels: str = "", fields: str = ""
    ) -> tuple[list[Object], str]:
        """The same, and the version from which to watch."""
        items: list[Object] = []
        version = ""
        for page in self.pages(kind, namespace=namespace, labels=labels, fields=fields):
            items += page.get("items") or []
            version = page["metadata"]["resourceVersion"]
        return items, version

    def pages(
        self,
        kind: Kind,
        *,
        namespace: str | None = None,
        labels: str = "",
        fields: str = "",
        accept: str = JSON,
    ) -> Iterator[Object]:
        """A list as the server answers, a page at a time; `accept` says in which form."""
        parameters = {"limit": str(PAGE), **_selectors(labels, fields)}
        while True:
            place = self._place(namespace)
            page = self._ask("GET", kind, place, parameters=parameters, accept=accept)
            yield page
            if not page["metadata"].get("continue"):
                return
            parameters["continue"] = page["metadata"]["continue"]

    def watch(
        self,
        kind: Kind,
        version: str,
        *,
        namespace: str | None = None,
        labels: str = "",
        fields: str = "",
        accept: str = JSON,
    ) -> Iterator[tuple[str, Object]]:
        """(ADDED, MODIFIED or DELETED, object) after `version`, until the server ends the watch or
        nothing is heard of it any more; then list again, which tells whether it can be reached."""
        place = self._place(namespace)
        request = Request("GET", kind, place, server=self.server)
        parameters = {
            "watch": "true",
            "resourceVersion": version,
            "timeoutSeconds": str(WATCH_SECONDS),
            **_selectors(labels, fields),
        }
        stream = self._streamed(request, kind.path(place), parameters, accept, SILENT_SECONDS)
        with reached(self.server), suppress(httpx2.ReadTimeout), stream as response:
            for line in response.iter_lines():
                event, found = self._event(line)
                if event == "ERROR":
                    return  # the version is too old: the caller lists again
                yield event, found

    def _event(self, line: str) -> tuple[str, Object]:
        """Of a watch; what stands in front of the server may say anything."""
        try:
            told = json.loads(line)
            return told["type"], dict(told["object"])
        except (ValueError, LookupError, TypeError):
            raise NotAnswering(
                f"the API server at {self.server} ends a watch with {line[:80]!r}, which is no "
                "event. It may be starting or overloaded; try again in a minute."
            ) from None

    def stream_log(
        self, pod: str, container: str, *, follow: bool, since: str = ""
    ) -> Iterator[bytes]:
        """Pieces of what a container of the jobs' namespace has printed, each line with its time
        before it, from the second `since` on; with `follow` until it has ended. Raises NotAnswering
        too where it has printed nothing for so long that nobody may be there: ask again."""
        request = Request("GET", PODS, self.namespace, pod, self.server, "log")
        parameters = {"container": container, "timestamps": "true"}
        parameters |= {"follow": "true"} if follow else {}
        parameters |= {"sinceTime": since} if since else {}
        path = PODS.path(self.namespace, pod, "log")
        stream = self._streamed(request, path, parameters, "*/*", SILENT_SECONDS)
        with reached(self.server), stream as response:
            yield from response.iter_bytes()

    @contextmanager
    def _streamed(
        self,
        request: Request,
        path: str,
        parameters: Mapping[str, str],
        accept: str,
        silent_seconds: float,
    ) -> Iterator[httpx2.Response]:
        """An answer that may take its time; inside of `reached`, as the reading of it is."""
        patience = httpx2.Timeout(REQUEST_SECONDS, read=silent_seconds)
        headers = {"Accept": accept}
        with ExitStack() as opened:
            stream = self.http.stream(
                "GET", path, params=parameters, timeout=patience, headers=headers
            )
            with logged_in(self.server):
                response = opened.enter_context(stream)
            if response.is_error:
                response.read()
                raise refusal(request, response.status_code, _json(response))
            yield response

    def create(
        self,
        kind: Kind,
        body: Mapping[str, Any],
        *,
        namespace: str | None = None,
        dry_run: bool = False,
    ) -> Object:
        """`dry_run`: the server judges it and keeps nothing."""
        parameters = {"fieldManager": FIELD_MANAGER, **({"dryRun": "All"} if dry_run else {})}
        place = self._place(namespace)
        name = (body.get("metadata") or {}).get("name", "")
        return self._ask("POST", kind, place, parameters=parameters, body=body, called=name)

    def patch(
        self, kind: Kind, name: str, body: Mapping[str, Any], *, namespace: str | None = None
    ) -> Object:
        """A merge patch; `metadata.resourceVersion` in it is a precondition."""
        return self._ask(
            "PATCH",
            kind,
            self._place(namespace),
            name,
            parameters={"fieldManager": FIELD_MANAGER},
            body=body,
            as_type="application/merge-patch+json",
        )

    def delete(self, kind: Kind, name: str, *, uid: str = "", namespace: str | None = None) -> None:
        """With `uid` this very object: a namesake that came after it stays."""
        options: Object = {"propagationPolicy": "Background"}
        if uid:
            options["preconditions"] = {"uid": uid}
        self._ask("DELETE", kind, self._place(namespace), name, body=options)

    def send(
        self,
        method: str,
        kind: Kind,
        name: str,
        *,
        namespace: str,
        subresource: str = "",
        body: Mapping[str, Any],
    ) -> Object:
        """Any other request, as somebody else has planned it; patches are merge patches."""
        is_patch = method == "PATCH"
        return self._ask(
            method,
            kind,
            namespace,
            name,
            subresource=subresource,
            body=body,
            as_type="application/merge-patch+json" if is_patch else JSON,
        )

    def _place(self, namespace: str | None) -> str:
        return self.namespace if namespace is None else namespace

    def _ask(
        self,
        method: str,
        kind: Kind,
        namespace: str,
        name: str = "",
        *,
        subresource: str = "",
        parameters: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        as_type: str = JSON,
        accept: str = JSON,
        called: str = "",
    ) -> Object:
        request = Request(method, kind, namespace, name or called, self.server, subresource)
        refuse_paths(request)
        with reached(self.server), logged_in(self.server):
            response = self.http.request(
                method,
                kind.path(namespace, name, subresource),
                params=parameters,
                content=None if body is None else json.dumps(body),
                headers={"Content-Type": as_type, "Accept": accept},
            )
        found = _json(response)
        if response.is_error or not isinstance(found, dict):
            raise refusal(request, response.status_code, found)
        return found


@contextmanager
def connected(context: str | None, namespace: str | None) -> Iterator[Cluster]:
    """The cluster of the kubeconfig's context. Raises UserError where there is none."""
    config = read_config(context)
    route = route_to(config.cluster)
    timeout = httpx2.Timeout(REQUEST_SECONDS, connect=CONNECT_SECONDS)
    parameters = client_adapter.ConnectionParams(timeout=timeout, proxy=route.proxy)
    try:
        http = client_adapter.Client(config, parameters)
    except (ConfigError, OSError, ValueError) as error:
        raise UserError(
            f"the kubeconfig's context {config.context_name!r} cannot be used: {error}. {NEXT}",
            exit_code=NO_CLUSTER,
        ) from None
    except httpx2.InvalidURL:  # whose words are a piece of it, which may be a password's
        raise UserError(
            f"the kubeconfig's context {config.context_name!r} cannot be used: its server is no "
            f"address such as https://HOST:6443. {NEXT}",
            exit_code=NO_CLUSTER,
        ) from None
    if name := route.server_name:
        http.event_hooks = {"request": [lambda request: _expect(request, name)]}
    with http:
        place = namespace or config.context.namespace or contract.JOB_NAMESPACE
        yield Cluster(http, address_of(config.cluster.server), place, config)


def _expect(request: httpx2.Request, name: str) -> None:
    """The server's certificate is to be of that name."""
    request.extensions["sni_hostname"] = name


def _selectors(labels: str, fields: str) -> dict[str, str]:
    given = {"labelSelector": labels, "fieldSelector": fields}
    return {key: value for key, value in given.items() if value}


def _json(response: httpx2.Response) -> Any:
    try:
        return response.json()
    except ValueError:
        return response.text
