"""What `spotrain doctor` asks of a cluster and of the cloud account behind it."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import pairwise
from typing import Final, TypeVar

from lightkube.config.kubeconfig import KubeConfig
from lightkube.core.exceptions import ConfigError

from spotrain import contract, kinds
from spotrain.cli.cluster import Cluster
from spotrain.cli.platform import SELF_REVIEWS
from spotrain.cli.refusals import NotAllowed, NotThere
from spotrain.doctor import access, platform
from spotrain.doctor.autoscaling import check_autoscaler
from spotrain.doctor.finding import Finding, warn
from spotrain.explain.autoscaler import CONFIGMAP, NAMESPACE, read_autoscaler
from spotrain.job import InvalidDocument, Pool, Price, parse_pools, parse_prices
from spotrain.kinds import Kind, Object

SYSTEM: Final = contract.SYSTEM_NAMESPACE
RIGHTS: Final = Kind("/apis/authorization.k8s.io/v1", "selfsubjectaccessreviews")
DEFINITION: Final = f"{contract.PLURAL}.{contract.GROUP}"
ADMINISTRATOR: Final = "an administrator sees it"
T = TypeVar("T")


@dataclass(frozen=True)
class Eks:
    """Where the cluster is in AWS; None: the kubeconfig does not say."""

    cluster: str | None = None
    region: str | None = None
    profile: str | None = None

    def overridden(self, region: str | None, cluster: str | None) -> "Eks":
        return replace(self, region=region or self.region, cluster=cluster or self.cluster)


def find_eks(context: str | None) -> Eks:
    """Whatever the kubeconfig's login command for EKS names; nothing where it is another."""
    try:
        config = KubeConfig.from_env().get(context)
    except (ConfigError, KeyError, ValueError, OSError):
        return Eks()  # who connects is told why
    run = config.user.exec if config and config.user else None
    if run is None:
        return Eks()
    words, env = run.args or [], {each.name: each.value for each in run.env or []}
    after = dict(pairwise(words))
    return Eks(
        cluster=after.get("--cluster-name") or after.get("-i") or after.get("--cluster-id"),
        region=after.get("--region") or env.get("AWS_REGION") or env.get("AWS_DEFAULT_REGION"),
        profile=after.get("--profile") or env.get("AWS_PROFILE"),
    )


@dataclass
class Preflight:
    """Usage: list(preflight.check()); then `pools` and `images` say what the cloud must have."""

    cluster: Cluster
    pools: tuple[Pool, ...] = ()
    images: list[str] = field(default_factory=list)

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
        if deployment:
            self.images.append(platform.controller_image(deployment))
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
        yield platform.check_gpu_plugin(daemon_set, nodes or (), self.pools)

    def _one(self, kind: Kind, name: str, namespace: str) -> Object | None:
        """Empty: it is not there. None: one may not look."""
        try:
            return self.cluster.get(kind, name, namespace=namespace)
        except NotThere:
            return {}
        except NotAllowed:
            return None

    def _several(self, kind: Kind, namespace: str) -> Sequence[Object] | None:
        try:
            return self.cluster.list_all(kind, namespace=namespace)
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


def ask_cloud(pools: Sequence[Pool], *, images: Iterable[str], eks: Eks) -> list[Finding]:
    """Findings on the account in which the pools' machines are rented."""
    rented = [pool for pool in pools if pool.instance_types]
    if not rented:
        return []
    try:
        from spotrain.clouds import aws, aws_account
    except ImportError:
        said = "not looked at: the AWS library is not installed."
        return [warn("cloud account", said, "pip install 'spotrain[aws]'")]
    from spotrain.doctor.account import check_account

    regions = {region for pool in rented for zone in pool.zones if (region := aws.region_of(zone))}
    region = eks.region or next(iter(sorted(regions)), None)
    if region is None:
        zones = ", ".join(sorted({zone for pool in rented for zone in pool.zones}))
        said = f"not looked at: no AWS region has the zones {zones}."
        return [warn("cloud account", said, "name one by --region, if it is AWS")]
    profile = None if os.environ.get("AWS_PROFILE") else eks.profile
    answers = aws_account.ask_account(
        aws_account.clients(region, profile=profile),
        region=region,
        cluster=eks.cluster or "",
        types=sorted({each for pool in rented for each in pool.instance_types}),
        images=images,
    )
    return list(check_account(answers, rented))


def _unseen(check: str) -> Finding:
    return warn(check, "not looked at: you may not read it.", ADMINISTRATOR)
