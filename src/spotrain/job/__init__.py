"""An ElasticJob and the pools that it may run in, parsed once into frozen types.

    job = parse_job(yaml.safe_load(text))                        # raises JobError
    pools = parse_pools(config_map["data"][contract.POOLS_KEY])  # raises PoolsError
    prices = parse_prices(config_map["data"][contract.PRICES_KEY])  # raises PricesError
    terms = parse_terms(config_map["data"][contract.TERMS_KEY])  # raises TermsError

The training image never imports this package: it needs pydantic and yaml.
"""

from spotrain.job.documents import InvalidDocument
from spotrain.job.elasticjob import ElasticJob, JobError, parse_job
from spotrain.job.pools import CAPACITIES, Offer, Pool, PoolsError, parse_pools, place_of
from spotrain.job.prices import PRICE_HOURS, Price, PricesError, parse_prices
from spotrain.job.spec import Budget, CapacityPolicy, Elastic, Placement, RunPolicy
from spotrain.job.template import gpus_of, limit_of, worker_container, worker_name
from spotrain.job.terms import StoragePrices, Terms, TermsError, parse_terms

__all__ = [
    "CAPACITIES",
    "PRICE_HOURS",
    "Budget",
    "CapacityPolicy",
    "Elastic",
    "ElasticJob",
    "InvalidDocument",
    "JobError",
    "Offer",
    "Placement",
    "Pool",
    "PoolsError",
    "Price",
    "PricesError",
    "RunPolicy",
    "StoragePrices",
    "Terms",
    "TermsError",
    "gpus_of",
    "limit_of",
    "parse_job",
    "parse_pools",
    "parse_prices",
    "parse_terms",
    "place_of",
    "worker_container",
    "worker_name",
]
