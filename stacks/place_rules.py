"""Rules about where a stack is and who gets in, alike on every cloud that is built on. Pure."""

from collections.abc import Collection, Iterator, Sequence

from stacks.other_words import of_another_cloud
from stacks.problems import UNSET, Problem, suggestion


def region_is_in(
    known: Collection[str], region: str, *, cloud: str, adds: str
) -> Iterator[Problem]:
    """`adds`: what belongs to a region that is added to the table."""
    if region not in known:
        table = f"stacks/{cloud}/gpus.yaml"
        yield Problem(
            path="region",
            value=region,
            rule=f"a region of {table}",
            reason="prices differ by region, and a misspelled one fails only inside the cloud",
            next_step=f"{of_another_cloud('region', region, cloud)}{suggestion(region, known)}; or "
            f"add it to {table} with {adds}",
        )


def zones_are_named_once(zones: Sequence[str], *, reason: str) -> Iterator[Problem]:
    for index, zone in enumerate(zones):
        if zone in zones[:index]:
            yield Problem(
                path=f"zones[{index}]",
                value=zone,
                rule="each zone once",
                reason=reason,
                next_step="remove the repetition",
            )


def one_way_in(by_address: bool, otherwise: bool, *, other: str, instead: str) -> Iterator[Problem]:
    """`other`: the setting beside cidrs. `instead`: how to write it, and what it does."""
    if by_address == otherwise:
        yield Problem(
            path="network.api_access",
            value=f"cidrs and {other}" if by_address else UNSET,
            rule=f"either cidrs or {other}, exactly one",
            reason="the program itself applies Kubernetes objects, so it must reach the endpoint; "
            "every default would be open to the world or closed to this program",
            next_step="set network.api_access to `cidrs: [<your office or runner>/32]`, or to "
            + instead,
        )
