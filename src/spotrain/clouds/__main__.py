"""`python -m spotrain.clouds aws --region us-east-1`: refreshes the prices once, and exits.

On Google Cloud: `python -m spotrain.clouds gcp --project my-project`.

It reads the pools ConfigMap, asks the cloud, and writes the prices ConfigMap. Exit code 1 means
that nothing was written: older prices stay as they are.
"""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

import httpx2
from lightkube import ApiError, Client, ConfigError
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import ConfigMap

from spotrain import contract
from spotrain.clouds.prices import RefreshError, document, merge, spot_pools
from spotrain.job import InvalidDocument, Pool, Price, PricesError, parse_pools, parse_prices
from spotrain.ledger.prices import Quote

Ask = Callable[[Pool, datetime], Sequence[Quote]]
"""A spot pool, now -> what the cloud answers; raises RefreshError."""
REQUEST_SECONDS = 10.0
NAMESPACE = contract.SYSTEM_NAMESPACE


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    try:
        with Client(timeout=httpx2.Timeout(REQUEST_SECONDS)) as client:
            said = refresh(client, _asker(options))
    except (RefreshError, InvalidDocument) as error:
        return _failed(str(error))
    except ApiError as error:
        step = f"check the Role {contract.PRICES_REFRESHER} in {NAMESPACE}"
        return _failed(f"the API server refuses: {error.status.message}. Next: {step}.")
    except ConfigError as error:
        return _failed(f"no cluster to write the prices to: {error}. Next: set KUBECONFIG.")
    except (httpx2.RequestError, OSError) as error:
        return _failed(f"the API server was not reached: {error}. Next: the next run tries again.")
    print(said)
    return 0


def refresh(client: Client, ask: Ask, *, now: datetime | None = None) -> str:
    """Write down what holds now; returns what to tell a person. Raises before it writes."""
    now = (now or datetime.now(UTC)).replace(microsecond=0)
    pools = spot_pools(parse_pools(_read(client, contract.POOLS_CONFIGMAP, contract.POOLS_KEY)))
    earlier = _earlier(_read(client, contract.PRICES_CONFIGMAP, contract.PRICES_KEY))
    # One by one: of a machine type with GPUs of its owner's choice, only the pool says which.
    answers = [(pool, ask(pool, now)) for pool in pools]
    fresh = sum(len(merge([pool], answer, (), now=now)) for pool, answer in answers)
    if pools and not fresh:
        types = ", ".join(sorted({each for pool in pools for each in pool.instance_types}))
        zones = ", ".join(sorted({zone for pool in pools for zone in pool.zones}))
        raise RefreshError(
            f"the cloud has no spot price for {types} in {zones}. "
            "Next: check that these types are sold in these zones, and correct the pools."
        )
    prices = [
        price for pool, answer in answers for price in merge([pool], answer, earlier, now=now)
    ]
    _write(client, {contract.PRICES_KEY: document(prices)})
    return f"{fresh} prices are new, {len(prices) - fresh} stay as they were"


def _earlier(text: str) -> tuple[Price, ...]:
    """What cannot be read is worth nothing, and is written anew."""
    try:
        return parse_prices(text)
    except PricesError as error:
        print(f"{error}\nIt is replaced.", file=sys.stderr)
        return ()


def _read(client: Client, name: str, key: str) -> str:
    try:
        found = client.get(ConfigMap, name, namespace=NAMESPACE)
    except ApiError as error:
        if error.status.code != 404:
            raise
        raise RefreshError(
            f"there is no ConfigMap {name} in {NAMESPACE}. Next: `pulumi up --refresh` makes it."
        ) from None
    text: str = (found.data or {}).get(key, "")
    return text


def _write(client: Client, data: Mapping[str, str]) -> None:
    """Server-side apply: the object stays its maker's, the data become ours."""
    metadata = ObjectMeta(name=contract.PRICES_CONFIGMAP, namespace=NAMESPACE)
    prices = ConfigMap(metadata=metadata, data=dict(data))
    client.apply(prices, field_manager=contract.PRICES_REFRESHER, force=True)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m spotrain.clouds", description="Refresh the prices of spot pools, once."
    )
    clouds = parser.add_subparsers(dest="cloud", required=True)
    aws = clouds.add_parser("aws", help="from EC2's spot price history")
    aws.add_argument("--region", required=True, help="of the cluster, such as us-east-1")
    gcp = clouds.add_parser("gcp", help="from Compute Engine's list of prices")
    gcp.add_argument("--project", required=True, help="of the cluster, such as my-project")
    return parser.parse_args(arguments)


def _asker(options: argparse.Namespace) -> Ask:
    """Each cloud's library is imported for its own sake alone."""
    return _of_aws(options.region) if options.cloud == "aws" else _of_gcp(options.project)


def _of_aws(region: str) -> Ask:
    from spotrain.clouds import aws

    ec2 = aws.connect(region)
    return lambda pool, now: aws.spot_quotes(ec2, pool.instance_types, pool.zones, now=now)


def _of_gcp(project: str) -> Ask:
    from spotrain.clouds import gcp

    google = gcp.connect()
    catalogue = gcp.Catalogue(google)
    return lambda pool, now: gcp.spot_quotes(google, catalogue, project, pool, now=now)


def _failed(message: str) -> int:
    print(message, file=sys.stderr)
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
