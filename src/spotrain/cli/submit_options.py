"""What `submit` and `sweep` ask of every job that they make, each with one name and one help."""

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from spotrain.cli.order import Order
from spotrain.job import CapacityPolicy

GpuType = Annotated[
    str | None, typer.Option(help="As spotrain gpus lists them; needless if there is one.")
]
MinGpus = Annotated[
    int | None, typer.Option(min=1, help="Below it the job waits; default: one worker's.")
]
Image = Annotated[str | None, typer.Option(help="Default: the platform's own.")]
Code = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="Send it, less what .spotrainignore names; the script lies in it.",
    ),
]
Env = Annotated[
    list[str] | None, typer.Option("--env", metavar="NAME=VALUE", help="May be repeated.")
]
Secret = Annotated[
    list[str] | None,
    typer.Option("--secret", metavar="NAME", help="Its keys become variables. Repeatable."),
]
PoolNames = Annotated[
    list[str] | None, typer.Option("--pool", help="Only these pools. Repeatable.")
]
Capacity = Annotated[CapacityPolicy, typer.Option(help="Which nodes to buy, in which order.")]
BudgetUsd = Annotated[
    float | None, typer.Option(metavar="USD", help="The job is stopped when it has cost it.")
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Write what would be sent, and send nothing.")
]


def read_order(
    gpu_type: GpuType = None,
    min_gpus: MinGpus = None,
    image: Image = None,
    code: Code = None,
    env: Env = None,
    secret: Secret = None,
    pool: PoolNames = None,
    capacity: Capacity = "spotThenOnDemand",
    budget: BudgetUsd = None,
) -> Order:
    """What they say together, of one GPU: how many, each verb asks in its own words."""
    return Order(
        gpus=1,
        gpu_type=gpu_type,
        min_gpus=min_gpus,
        image=image,
        code=code,
        env=env or (),
        secrets=secret or (),
        pools=pool or (),
        capacity=capacity,
        max_dollars=budget,
    )


def takes_order(command: Callable[..., None]) -> Callable[..., None]:
    """A command with the options of `read_order` where its parameter `order` stands."""
    asked = inspect.signature(read_order).parameters
    own = inspect.signature(command)

    @wraps(command)
    def reading(**given: Any) -> None:
        order = read_order(**{name: given.pop(name) for name in asked})
        command(order=order, **given)

    parameters = [
        each.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for name, parameter in own.parameters.items()
        for each in (asked.values() if name == "order" else (parameter,))
    ]
    reading.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    reading.__annotations__ = {each.name: each.annotation for each in parameters}
    return reading
