"""Which benchmarks there are, in the order in which `make bench` runs them. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, kw_only=True)
class Part:
    name: str
    about: str
    module: str
    minutes: int
    """On two idle cores."""
    peers: str = ""
    """A lock file of what only this benchmark's peers need; it is installed beside the project."""
    needs_cluster: bool = False
    """etcd and kube-apiserver."""
    needs_kubectl: bool = False
    also: tuple[str, ...] = ()
    """Other names for it: it measures several things in one run."""


class UnknownPart(ValueError):
    """No benchmark has that name; the message lists those that there are."""


PARTS: Final = (
    Part(
        name="controller",
        about="the controller beside bare clients",
        module="bench.controller",
        minutes=10,
        peers="bench/controller/requirements.lock",
        needs_cluster=True,
    ),
    Part(
        name="coordinator",
        about="a thousand agents of a hundred jobs on one coordinator",
        module="bench.coordinator",
        minutes=3,
    ),
    Part(
        name="command",
        about="how long a person waits for spotrain, beside kubectl",
        module="bench.command",
        minutes=9,
        needs_cluster=True,
        needs_kubectl=True,
    ),
    Part(
        name="checkpoints",
        about="how long a checkpoint stops training",
        module="bench.train.checkpoint",
        minutes=5,
    ),
    Part(
        name="loss",
        about="SIGKILL to the next step, beside torchrun",
        module="bench.train.interruptions.loss",
        minutes=20,
    ),
    Part(
        name="planned",
        about="notice and growth, beside torchrun",
        module="bench.train.interruptions.planned",
        minutes=16,
        also=("notice", "growth"),
    ),
    Part(
        name="step-cost",
        about="what the session adds to a step",
        module="bench.train.step_cost",
        minutes=7,
    ),
    Part(
        name="survival",
        about="ten disasters, beside torchrun",
        module="bench.train.survival",
        minutes=20,
    ),
    Part(
        name="fencing",
        about="workers and coordinators frozen at the worst moment",
        module="bench.train.fencing",
        minutes=15,
    ),
    Part(
        name="samples",
        about="samples lost and repeated, beside other samplers",
        module="bench.train.samples",
        minutes=2,
        peers="bench/train/requirements.lock",
    ),
    Part(
        name="sampler",
        about="the host's time for each index, beside torch's sampler",
        module="bench.train.sampler",
        minutes=2,
    ),
    Part(
        name="goodput",
        about="a recorded trace of spot capacity, beside torchrun",
        module="bench.train.goodput",
        minutes=25,
    ),
    # After those whose figures it takes.
    Part(
        name="cost",
        about="what jobs save on recorded traces, beside an oracle, torchrun and full restarts",
        module="bench.cost",
        minutes=1,
    ),
)


def chosen(names: Sequence[str]) -> list[Part]:
    """The parts of these names, each once, in the order of PARTS; all, if none is named.

    Raises:
        UnknownPart: a name is not among them.
    """
    known = {name for part in PARTS for name in (part.name, *part.also)}
    for name in names:
        if name not in known:
            raise UnknownPart(f"{name!r} is no benchmark; there are {', '.join(sorted(known))}")
    wanted = set(names) or known
    return [part for part in PARTS if wanted & {part.name, *part.also}]
