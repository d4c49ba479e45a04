"""What `spotrain doctor` asks of a cluster."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final, TypeVar

from spotrain import contract, kinds
from spotrain.cli.archive import LABEL as ARCHIVE
from spotrain.cli.cluster import Cluster
from spotrain.cli.platform import SELF_REVIEWS
from spotrain.cli.refusals import NotAllowed, NotThere
from spotrain.doctor import access, platform
from spotrain.doctor.autoscaling import check_autoscaler
from spotrain.doctor.finding import Finding, warn
from spotrain.doctor.vcpus import managers_of
from spotrain.explain.autoscaler import CONFIGMAP, NAMESPACE, read_autoscaler
from spotrain.job import InvalidDocument, Pool, Price, parse_pools, parse_prices
from spotrain.kinds import Kind, Object

SYSTEM: Final = contract.SYSTEM_NAMESPACE
RIGHTS: Final = Kind("/apis/authorization.k8s.io/v1", "selfsubjectaccessreviews")
DEFINITION: Final = f"{contract.PLURAL}.{contract.GROUP}"
ADMINISTRATOR: Final = "an administrator sees it"
T = TypeVar("T")


@dataclass
class Preflight:
    """Usage: list(preflight.check()); then the rest says what to ask of the cloud."""

    cluster: Cluster
    pools: tuple[Pool, ...] = ()
    images: list[str] = field(default_factory=list)
    provider_ids: list[str] = field(default_factory=list)
    """Of the nodes, as their cloud names them."""
    managers: Mapping[str, int] = field(default_factory=dict)
    """Instance type -> how many nodes of the cluster's own services are of it."""

    def check(self) -> Iterator[Finding]:
        """Raises UserError: the cluster was not reached."""
        yield from self._access()
        yield from self._platform()
        yield from self._stores()

    def _access(self) -> Iterator[Finding]:
        cluster = self.cluster
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        told = cluster.create(SELF_REVIEWS, body, namespace="")["status"]["userInfo"]
        yield access.check_user(told.get("username", ""), told.get("groups") or ())
        asked = {"verb": "create", "group": contract.GROUP, "resource": contract.PLURAL}
        spec = {"resourceAttributes": {**asked, "namespace": cluster.namespace}}
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview"}
        answer = cluster.create(RIGHTS, {**review, "spec": spec}, namespace="")
        yield access.check_right(bool(answer["status"].get("allowed")), cluster.namespace)
        before = datetime.now(UTC)
        date = cluster.http.get("/version").headers.get("date")
        theirs = parsedate_to_datetime(date) if date else None
        yield access.check_clock(theirs, before=before, after=datetime.now(UTC))

    def _platform(self) -> Iterator[Finding]:
        definition = self._one(kinds.DEFINITIONS, DEFINITION, "")
        yield from self._judge("job definition", definition, platform.check_definition)
        deployment = self._one(kinds.DEPLOYMENTS, contract.CONTROLLER_NAME, SYSTEM)
        yield from self._judge("controller", deployment, platform.check_controller)
        image = platform.controller_image(deployment or {})
        if image:
            self.images.append(image)
        archives = self._several(kinds.PODS, self.cluster.namespace, labels=ARCHIVE)
        yield from self._judge(
            "archive",
            archives,
            lambda pods: platform.check_archive(
                pods, self.cluster.namespace, controller_image=image
            ),
        )
        found = self._one(kinds.CONFIG_MAPS, contract.POOLS_CONFIGMAP, SYSTEM)
        yield from self._judge("pools", found, self._read_pools)
        prices = self._one(kinds.CONFIG_MAPS, contract.PRICES_CONFIGMAP, SYSTEM)
        yield from self._judge("spot prices", prices, self._judge_prices)
        status = self._one(kinds.CONFIG_MAPS, CONFIGMAP, NAMESPACE)
        if status is None:
            yield _unseen("autoscaler")
        else:
            told, now = read_autoscaler(status), datetime.now(UTC)
            yield from check_autoscaler(told, self.pools, now=now)

    def _stores(self) -> Iterator[Finding]:
        namespace = self.cluster.namespace
        claims = self._several(kinds.CLAIMS, namespace)
        yield from self._judge(
            "storage", claims, lambda found: platform.check_storage(found, namespace)
        )
        daemon_set = self._one(kinds.DAEMON_SETS, platform.PLUGIN, "kube-system")
        nodes = self._several(kinds.NODES, "")
        self.provider_ids = [
            name for node in nodes or () if (name := (node.get("spec") or {}).get("providerID"))
        ]
        self.managers = managers_of(nodes or ())
        yield platform.check_gpu_plugin(daemon_set, nodes or (), self.pools)

    def _one(self, kind: Kind, name: str, namespace: str) -> Object | None:
        """Empty: it is not there. None: one may not look."""
        try:
            return self.cluster.get(kind, name, namespace=namespace)
        except NotThere:
            return {}
        except NotAllowed:
            return None

    def _several(self, kind: Kind, namespace: str, labels: str = "") -> Sequence[Object] | None:
        try:
            return self.cluster.list_all(kind, namespace=namespace, labels=labels)
        except NotAllowed:
            return None

    def _judge(
        self, check: str, found: T | None, judge: Callable[[T], Finding]
    ) -> Iterator[Finding]:
        yield _unseen(check) if found is None else judge(found)

    def _read_pools(self, found: Object) -> Finding:
        data = found.get("data") or {}
        if image := data.get(contract.TRAINING_IMAGE_KEY):
            self.images.append(image)
        try:
            self.pools = parse_pools(data.get(contract.POOLS_KEY, ""))
        except InvalidDocument as error:
            return platform.unreadable("pools", str(error))
        return platform.check_pools(self.pools)

    def _judge_prices(self, found: Object) -> Finding:
        prices: tuple[Price, ...] = ()
        try:
            prices = parse_prices((found.get("data") or {}).get(contract.PRICES_KEY, ""))
        except InvalidDocument as error:
            return platform.unreadable("spot prices", str(error))
        return platform.check_prices(prices, self.pools, now=datetime.now(UTC))


def _unseen(check: str) -> Finding:
    return warn(check, "not looked at: you may not read it.", ADMINISTRATOR)
