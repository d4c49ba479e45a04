"""What a stack wants of its account before its first node: told by its preview and its pages."""

from collections.abc import Sequence
from dataclasses import dataclass

from spotrain.quotas import draws
from spotrain.quotas.draws import Draw


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """A quota on which a stack draws."""

    names: tuple[str, ...]
    """As the cloud calls it; where it has none by the first name, the next one counts."""
    unit: str
    """vCPUs, GPUs or GB."""
    draws: tuple[Draw, ...]
    code: str = ""
    """By which a command names it."""
    new: str = ""
    """What a new account has of it; empty: nobody says."""

    @property
    def most(self) -> int:
        return draws.most(self.draws)

    @property
    def at_first(self) -> int:
        return draws.at_first(self.draws)


@dataclass(frozen=True, kw_only=True)
class Needs:
    """All of them, and where to look."""

    region: str = ""
    """Each region has its own, but for those that say otherwise by their name."""
    wanted: tuple[Wanted, ...] = ()
    notes: Sequence[str] = ()
    """Sentences about what no row says."""
    show: Sequence[str] = ()
    """Commands that print what the account has."""
    ask: Sequence[str] = ()
    """How to ask for more."""
