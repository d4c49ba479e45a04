"""In which order a destroy removes things: whatever waits for another when made, goes before it."""

from collections.abc import Iterable, Iterator
from functools import cache

from stacks.recorder import Recording, Registration


class Order:
    """Who goes before whom: by explicit waits, and by values that one takes from another."""

    def __init__(self, recording: Recording) -> None:
        self._needs = {r.urn: frozenset(r.depends_on) for r in recording.resources}
        self._all_needs = cache(self._follow)

    def goes_before(self, first: Registration, then: Registration) -> bool:
        return then.urn in self._all_needs(first.urn)

    def violations(
        self, first: Iterable[Registration], then: Iterable[Registration]
    ) -> Iterator[str]:
        """Pairs of which the first may go while, or after, the second does."""
        later = list(then)
        for resource in first:
            for other in later:
                if not self.goes_before(resource, other):
                    yield f"{resource.name} does not go before {other.name}"

    def _follow(self, urn: str) -> frozenset[str]:
        found: set[str] = set()
        left = [urn]
        while left:
            new = self._needs.get(left.pop(), frozenset()) - found
            found |= new
            left += new
        return frozenset(found)
