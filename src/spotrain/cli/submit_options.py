"""What `submit` and `sweep` ask of every job that they make, each with one name and one help."""

from pathlib import Path
from typing import Annotated

import typer

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
