"""What a person orders by options, and the jobs that come of it: of one name, or of many."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from spotrain import contract
from spotrain.cli.code import code_folder, packed_code
from spotrain.cli.destination import Destination, in_cluster, on_this_machine
from spotrain.cli.errors import UserError
from spotrain.cli.interrupts import goes_on, interrupted, unbroken
from spotrain.cli.jobs import Jobs
from spotrain.cli.script import Place, refuse_missing_script
from spotrain.cli.sizing import Size, choose_size, fitting_pools
from spotrain.cli.submission import Submission, build_job
from spotrain.job import CapacityPolicy, Pool
from spotrain.kinds import Object

if TYPE_CHECKING:
    from spotrain.cli.code import Packed

VARIABLE: Final = r"[-._a-zA-Z][-._a-zA-Z0-9]*"
"""Names that every API server takes."""


@dataclass(frozen=True, kw_only=True)
class Order:
    """The options of `submit` but for the job's own name and script."""

    gpus: int
    gpu_type: str | None = None
    min_gpus: int | None = None
    image: str | None = None
    code: Path | None = None
    env: Sequence[str] = ()
    """NAME=VALUE each."""
    secrets: Sequence[str] = ()
    pools: Sequence[str] = ()
    capacity: CapacityPolicy = "spotThenOnDemand"
    max_dollars: float | None = None


@dataclass(frozen=True, kw_only=True)
class Preparation:
    """An order that can be met, and where."""

    order: Order
    target: Destination
    pools: Sequence[Pool]
    """Those that may serve it."""
    size: Size
    environment: Mapping[str, str] = field(default_factory=dict)
    packed: "Packed | None" = None
    workdir: str = ""
    is_local: bool = False
    scripts: Place | None = None
    """Where the script has to lie; None: in the image, which nobody has looked into."""

    def job(self, name: str, arguments: Sequence[str]) -> Object:
        """Raises UserError where no such job can be, or no worker finds its script."""
        order, target = self.order, self.target
        job = build_job(
            Submission(
                name=name,
                namespace=target.namespace,
                researcher=target.researcher,
                gpu=self.pools[0].gpu,
                size=self.size,
                image=target.training_image if order.image is None else order.image,
                is_platform_image=order.image is None,
                arguments=arguments,
                environment=self.environment,
                secrets=order.secrets,
                pools=order.pools,
                capacity=order.capacity,
                max_dollars=order.max_dollars,
                workdir=self.workdir,
            )
        )
        if self.scripts:
            refuse_missing_script(arguments, self.scripts)
        return job

    @property
    def wording(self) -> str:
        """What was ordered, with what nobody has typed: 2 workers of 1 GPU (t4, pool t4-spot)."""
        gpu = self.pools[0].gpu
        chosen = [gpu] if gpu != contract.NO_GPU else []
        if not self.is_local:  # whose pools are made up
            names = [pool.name for pool in self.pools]
            chosen.append(f"pool{'s' * (len(names) > 1)} {' or '.join(names)}")
        return f"{self.size.wording} ({', '.join(chosen)})" if chosen else self.size.wording

    def send_code(self) -> None:
        if self.packed:
            self.target.send_code(self.packed)


@contextmanager
def prepared(
    order: Order, *, context: str | None, namespace: str | None, local: bool
) -> Iterator[Preparation]:
    """Raises UserError where there is no cluster, or nothing that could serve the order."""
    if order.max_dollars is not None and not 0 < order.max_dollars < inf:
        raise UserError(f"--budget {order.max_dollars:g}: give an amount of dollars above 0.")
    if local and order.secrets:
        raise UserError("--secret: only a cluster has secrets; export its variables here instead.")
    environment = read_environment(order.env)
    with ExitStack() as opened:
        packed = opened.enter_context(packed_code(order.code)) if order.code else None
        target = opened.enter_context(
            on_this_machine(order.gpu_type, order.code or Path())
            if local
            else in_cluster(context, namespace)
        )
        usable = fitting_pools(
            target.pools,
            gpu=order.gpu_type,
            gpus=order.gpus,
            names=order.pools,
            capacity=order.capacity,
        )
        if order.image is None and not target.training_image:
            raise UserError("the platform names no training image; name one by --image.")
        yield Preparation(
            order=order,
            target=target,
            pools=usable,
            size=choose_size(usable, gpus=order.gpus, min_gpus=order.min_gpus),
            environment=environment,
            packed=packed,
            workdir=code_folder(packed.sha256) if packed and not local else "",
            is_local=local,
            scripts=place_of_scripts(order, local=local),
        )


def place_of_scripts(order: Order, *, local: bool) -> Place | None:
    """None: they lie in the image."""
    if local:
        about = "the folder of --code" if order.code else "where this is typed"
        return Place(folder=order.code or Path(), about=about)
    if order.code:
        about = "the folder that --code sends"
        has_own_image = order.image is not None
        return Place(folder=order.code, about=about, is_sent=True, takes_commands=has_own_image)
    return None


def send(jobs: Jobs, document: Mapping[str, Any], *, local: bool) -> Object:
    """Make the job. Ctrl-C meanwhile is a UserError that says what became of it."""
    name = document["metadata"]["name"]
    with unbroken(f"{name} is being sent") as interrupt:
        made = jobs.create(document)
    if interrupt.came:
        raise interrupted(goes_on(name, local=local))
    return made


def read_environment(pairs: Sequence[str]) -> dict[str, str]:
    """NAME=VALUE each. Raises UserError."""
    found = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not (name and equals):
            raise UserError(  # what was typed is perhaps a value, and that a secret
                "one --env has not the form NAME=VALUE."
            )
        if not re.fullmatch(VARIABLE, name):
            raise UserError(
                f"--env {name!r}: names of variables have letters (a-z, A-Z), digits, '_', '-' and "
                "'.' only, and begin with no digit."  # not its value, which may be a secret
            )
        found[name] = value
    return found
