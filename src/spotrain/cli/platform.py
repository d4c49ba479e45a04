"""What the platform tells its users: pools, prices, the training image, and who they are."""

import getpass
from dataclasses import dataclass

from spotrain import contract
from spotrain.cli.cluster import Cluster
from spotrain.cli.errors import NO_CLUSTER, UserError
from spotrain.cli.refusals import NotThere
from spotrain.cli.submission import researcher_label
from spotrain.job import (
    InvalidDocument,
    Pool,
    Price,
    Terms,
    parse_pools,
    parse_prices,
    parse_terms,
)
from spotrain.job.terms import UNKNOWN
from spotrain.kinds import CONFIG_MAPS, Kind

SELF_REVIEWS = Kind("/apis/authentication.k8s.io/v1", "selfsubjectreviews")


@dataclass(frozen=True)
class Platform:
    pools: tuple[Pool, ...]
    training_image: str
    """Empty: it names none."""
    terms: Terms = UNKNOWN


def read_platform(cluster: Cluster) -> Platform:
    """Raises UserError where the platform is not installed, or is of no use."""
    try:
        found = cluster.get(
            CONFIG_MAPS, contract.POOLS_CONFIGMAP, namespace=contract.SYSTEM_NAMESPACE
        )
    except NotThere:
        raise UserError(
            f"the cluster at {cluster.server} has no ConfigMap {contract.POOLS_CONFIGMAP} in "
            f"{contract.SYSTEM_NAMESPACE}: is the platform installed? Name another --context.",
            exit_code=NO_CLUSTER,
        ) from None
    data = found.get("data") or {}
    try:
        pools = parse_pools(data.get(contract.POOLS_KEY, ""))
        terms = parse_terms(data.get(contract.TERMS_KEY, ""))
    except InvalidDocument as error:
        raise UserError(f"{error} Tell the platform's administrator.") from None
    return Platform(pools, data.get(contract.TRAINING_IMAGE_KEY, ""), terms)


def read_prices(cluster: Cluster) -> tuple[Price, ...]:
    """Spot prices as last told; none where no refresher is installed."""
    try:
        found = cluster.get(
            CONFIG_MAPS, contract.PRICES_CONFIGMAP, namespace=contract.SYSTEM_NAMESPACE
        )
        return parse_prices((found.get("data") or {}).get(contract.PRICES_KEY, ""))
    except (NotThere, InvalidDocument):
        return ()


def whoami(cluster: Cluster) -> str:
    """The researcher, as the cluster knows this person, in the form of a label."""
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    try:
        told = cluster.create(SELF_REVIEWS, body, namespace="")
        user = str(told["status"]["userInfo"].get("username", ""))
    except (UserError, KeyError):
        user = ""
    return researcher_label(user) or researcher_label(getpass.getuser())
