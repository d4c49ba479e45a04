"""What spot nodes cost now, as somebody who may ask the cloud has written it down.

The refresher of prices (`spotrain.clouds`) writes them to a ConfigMap, so that whoever reads them
needs to know no cloud, and no right in one.
"""

from typing import Annotated, Final

import yaml
from pydantic import AwareDatetime, Field, Strict, ValidationError

from spotrain import contract
from spotrain.job.documents import InvalidDocument, Name, Problem, Section, explain, without_nulls

PRICE_HOURS: Final = 6
"""A price that was told longer ago counts no more. The refresher asks every half hour, so a price
of that age is one that the cloud no longer tells."""


class PricesError(InvalidDocument):
    """A prices ConfigMap that cannot be used; `.problems` has (path, message) of each fault."""


class Price(Section):
    """What a node of a spot pool costs: one of its instance types, in one of its zones."""

    pool: Name
    zone: str
    instance_type: str
    spot_usd_per_hour: Annotated[float, Field(gt=0)]
    """price of one node for one hour"""
    at: Annotated[AwareDatetime, Strict(False)]
    """when the cloud said so; it may have changed since"""


class _Prices(Section):
    prices: Annotated[tuple[Price, ...], Strict(False)]


def parse_prices(text: str) -> tuple[Price, ...]:
    """The prices in the ConfigMap's YAML list, none if it is empty; PricesError names faults."""
    what = f"{contract.PRICES_KEY} in the ConfigMap {contract.PRICES_CONFIGMAP}"
    try:
        document = yaml.safe_load(text) or []
    except yaml.YAMLError as error:
        raise PricesError(what, [Problem("", f"is no YAML: {error}")]) from None
    try:
        parsed = _Prices.model_validate(
            without_nulls({"prices": document}), by_alias=True, by_name=False
        )
    except ValidationError as error:
        raise PricesError(what, explain(error, _Prices)) from None
    return parsed.prices
