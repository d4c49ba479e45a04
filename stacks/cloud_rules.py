"""Rules about what every cloud that a stack builds has: pools, managers, people, images. Pure."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from spotrain import contract
from stacks.pools import Twinned, twin_name
from stacks.problems import UNSET, Problem, every, suggestion

LONGEST_POOL_NAME = 30
"""Characters of a pool's name, its twin's too: a label's value, and a part of longer names. AWS: a
node group gpu-<pool>-<zone>-<7 digits> has at most 63; Google: a node pool <pool>-<letter> 40."""


class BuiltPool(Twinned, Protocol):
    """What the rules about a pool read."""

    @property
    def capacity(self) -> str: ...
    @property
    def zones(self) -> Sequence[str]: ...


class HasPools(Protocol):
    @property
    def pools(self) -> Sequence[BuiltPool]: ...
    @property
    def zones(self) -> Sequence[str]: ...


class Limits(Protocol):
    @property
    def min_nodes(self) -> int: ...
    @property
    def max_nodes(self) -> int: ...


class HasManagers(Protocol):
    @property
    def managers(self) -> Limits: ...


class People(Protocol):
    @property
    def admins(self) -> Sequence[str]: ...
    @property
    def researchers(self) -> Sequence[str]: ...


class Images(Protocol):
    @property
    def build(self) -> bool: ...
    @property
    def training(self) -> str | None: ...
    @property
    def controller(self) -> str | None: ...


class HasImages(Protocol):
    @property
    def images(self) -> Images: ...


@dataclass(frozen=True, kw_only=True)
class PoolTerms:
    """How a cloud calls what a pool is made of."""

    cloud: str
    groups: str
    """Of nodes, in the plural."""
    why_zones: str
    """Why a pool's zones are zones of the stack, each named once."""


# --- Pools ----------------------------------------------------------------------------------------
def pool_is_placed(
    path: str, index: int, settings: HasPools, terms: PoolTerms
) -> Iterator[Problem]:
    """The pool of that index has a name, a twin and zones that can be."""
    rules = (_name_is_free, _twin_is_possible, _zones_belong_to_the_stack)
    yield from every(rules, path, index, settings, terms)


def _name_is_free(path: str, index: int, settings: HasPools, terms: PoolTerms) -> Iterator[Problem]:
    pool = settings.pools[index]
    if any(pool.name == other.name for other in settings.pools[:index]):
        yield Problem(
            path=f"{path}.name",
            value=pool.name,
            rule="a name of its own",
            reason=_by_name(terms),
            next_step="rename one of the two pools",
        )


def _twin_is_possible(
    path: str, index: int, settings: HasPools, terms: PoolTerms
) -> Iterator[Problem]:
    pool = settings.pools[index]
    if not pool.on_demand_max_nodes:
        return
    name = twin_name(pool.name)
    broken = partial(Problem, path=f"{path}.on_demand_max_nodes", value=pool.on_demand_max_nodes)
    if pool.capacity != contract.CAPACITY_SPOT:
        yield broken(
            rule="only for a spot pool",
            reason="it is where jobs go when spot has nothing, and this pool is on demand itself",
            next_step=f"remove it and set {path}.max_nodes, or set {path}.capacity to spot",
        )
    for number, other in enumerate(settings.pools):
        if other.name == name:
            yield broken(
                rule=f"a twin only where no pool has its name, {name}; pools[{number}] has",
                reason=_by_name(terms),
                next_step=f"remove pools[{number}], the twin takes its place, or rename it",
            )
    if len(name) > LONGEST_POOL_NAME:
        short = LONGEST_POOL_NAME - (len(name) - len(pool.name))
        yield broken(
            rule=f"at most {LONGEST_POOL_NAME} characters in the twin's name, {name}",
            reason=f"{terms.cloud} limits the names of {terms.groups}, and more follows",
            next_step=f"shorten {path}.name to {short} characters, or write the twin as a pool",
        )


def _by_name(terms: PoolTerms) -> str:
    return f"{terms.groups}, labels and prices are found by the pool's name"


def _zones_belong_to_the_stack(
    path: str, index: int, settings: HasPools, terms: PoolTerms
) -> Iterator[Problem]:
    pool, zones = settings.pools[index], settings.zones
    for number, zone in enumerate(pool.zones):
        if zone not in zones or zone in pool.zones[:number]:
            yield Problem(
                path=f"{path}.zones[{number}]",
                value=zone,
                rule="a zone of the stack, once",
                reason=terms.why_zones,
                next_step=f"{suggestion(zone, zones)}; or add it to zones",
            )


# --- What else a cloud has ------------------------------------------------------------------------
def principals(cluster: People) -> Iterator[tuple[str, str]]:
    """(path, principal) of everybody who is named."""
    for field in ("admins", "researchers"):
        for index, principal in enumerate(getattr(cluster, field)):
            yield f"cluster.{field}[{index}]", principal


def named_once(cluster: People, *, what: str, reason: str) -> Iterator[Problem]:
    """`what` a person is called by on this cloud."""
    first: dict[str, str] = {}
    for path, principal in principals(cluster):
        if principal in first:
            yield Problem(
                path=path,
                value=principal,
                rule=f"each {what} once; it is {first[principal]} already",
                reason=reason,
                next_step="keep the one that you mean",
            )
        first.setdefault(principal, path)


def managers_are_in_their_limits(settings: HasManagers) -> Iterator[Problem]:
    managers = settings.managers
    if managers.min_nodes > managers.max_nodes:
        yield Problem(
            path="managers.min_nodes",
            value=managers.min_nodes,
            rule=f"at most managers.max_nodes, {managers.max_nodes}",
            reason="no group can hold more nodes than its limit",
            next_step="raise managers.max_nodes or lower managers.min_nodes",
        )


def manager_is_known(
    path: str, name: str, known: Collection[str], *, kind: str, table: str
) -> Iterator[Problem]:
    """`kind`: how the cloud calls a type of machine."""
    if name not in known:
        yield Problem(
            path=path,
            value=name,
            rule=f"{kind} under `managers` in {table}",
            reason="the fixed cost of the stack cannot be told otherwise",
            next_step=f"{suggestion(name, known)}; or add it there with its price",
        )


def images_are_built_or_named(settings: HasImages) -> Iterator[Problem]:
    images = settings.images
    for field in ("training", "controller"):
        given = getattr(images, field)
        if (given is None) == (not images.build):
            yield Problem(
                path=f"images.{field}",
                value=given or UNSET,
                rule="a reference with its digest when images.build is false, else nothing",
                reason="an image is either built here or named, never both",
                next_step=f"set images.build to true, or both images.{field} and its sibling to "
                "references with a digest and images.build to false",
            )
