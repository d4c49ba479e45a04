"""What other clouds and tools call something, so that whoever writes it is told what to write here.

By the shape of a name alone: no other cloud's tables are read.
"""

import re
from collections.abc import Collection, Mapping

SHAPES: Mapping[str, Mapping[str, re.Pattern[str]]] = {
    "region": {
        "aws": re.compile(r"[a-z]{2}(-[a-z]+)+-\d"),
        "gcp": re.compile(r"[a-z]+-[a-z]+\d+"),
    },
    "machine type": {
        "aws": re.compile(r"[a-z]+\d[a-z0-9-]*\.(\d*xlarge|[a-z]+)"),
        "gcp": re.compile(r"[a-z]+\d[a-z]*-[a-z0-9-]+"),
    },
}
"""What is named -> cloud -> how it names them."""
CAPACITY = "write capacity: spot, or capacity: on-demand"
PRICE = (
    "remove it: nobody names a price here; a spot node costs what the market asks, at most the "
    "price on demand, and max_nodes limits the bill"
)
ACCELERATOR = "write gpu and gpus_per_node: {types} says which accelerator that is"
FROM_ZERO = "remove it: a pool has no node until a job needs one"
OF_A_POOL: Mapping[str, str] = {
    **dict.fromkeys(("spot", "preemptible", "capacity_type", "is_spot"), CAPACITY),
    **dict.fromkeys(("max_price", "spot_price", "spot_max_price", "spot_usd_per_hour"), PRICE),
    **dict.fromkeys(("accelerator", "accelerator_type", "guest_accelerators"), ACCELERATOR),
    **dict.fromkeys(("min_nodes", "desired_nodes", "node_count", "initial_node_count"), FROM_ZERO),
}
"""Setting that a pool has elsewhere -> the next step."""


def of_another_cloud(what: str, word: str, cloud: str) -> str:
    """`that is how cloud: gcp names a region; `, or nothing."""
    shapes = SHAPES[what]
    others = [name for name, shape in shapes.items() if name != cloud and shape.fullmatch(word)]
    if shapes[cloud].fullmatch(word) or not others:
        return ""
    return f"that is how cloud: {others[0]} names a {what}; "


def of_a_pool(name: str, known: Collection[str]) -> str | None:
    """`known`: what a pool of this cloud may say; a cluster that exists has prices and no types."""
    types = next((each for each in ("machine_type", "instance_types") if each in known), None)
    step = OF_A_POOL.get(name)
    if step is None or (types is None and step in (PRICE, ACCELERATOR)):
        return None
    return step.format(types=types)
