"""What the platform's cloud charges beside nodes, and how long idle nodes stay.

The stack writes it beside the pools, so that whoever reckons costs needs to know no cloud.
"""

from typing import Annotated, Final

import yaml
from pydantic import Field, ValidationError

from spotrain import contract
from spotrain.job.documents import InvalidDocument, Problem, Section, explain, without_nulls


class TermsError(InvalidDocument):
    """Terms that cannot be used; `.problems` has (path, message) of each fault."""


class StoragePrices(Section):
    """What moving a GB (10^9 bytes) between a pod and the shared volume costs."""

    read_usd_per_gb: Annotated[float, Field(ge=0)]
    """dollars for a GB that is read"""
    written_usd_per_gb: Annotated[float, Field(ge=0)]
    """dollars for a GB that is written"""


class Terms(Section):
    """All of it may be unknown."""

    idle_minutes: Annotated[float, Field(ge=0)] | None = None
    """how long a node has nothing to do before the autoscaler ends it"""
    storage: StoragePrices | None = None
    """absent where nobody has named them"""


UNKNOWN: Final = Terms()


def parse_terms(text: str) -> Terms:
    """The terms in the ConfigMap's YAML, unknown ones if it is empty; TermsError names faults."""
    what = f"{contract.TERMS_KEY} in the ConfigMap {contract.POOLS_CONFIGMAP}"
    try:
        document = yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        raise TermsError(what, [Problem("", f"is no YAML: {error}")]) from None
    try:
        return Terms.model_validate(without_nulls(document), by_alias=True, by_name=False)
    except ValidationError as error:
        raise TermsError(what, explain(error, Terms)) from None
