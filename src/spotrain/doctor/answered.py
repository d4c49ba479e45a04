"""What is made of an answer alike on every cloud: a refusal, types of machines, images."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from spotrain.clouds.answers import Answer, Refused
from spotrain.doctor.finding import Finding, fail, passed, warn

T = TypeVar("T")


def told(
    check: str,
    answer: Answer[T],
    right: str,
    judge: Callable[[T], Iterator[Finding]],
    *,
    cloud: str,
    naming: str,
) -> Iterator[Finding]:
    """What there is to say of an answer; a question that was refused is said to be open.

    `right`: which one is lacking where it is denied. `naming`: the option that names what is asked.
    """
    if not isinstance(answer, Refused):
        yield from judge(answer)
    elif answer.is_denied:
        yield warn(check, f"not looked at: you may not ask ({answer.code}).", f"ask for {right}")
    elif answer.is_throttled:
        yield warn(
            check, f"not looked at: {cloud} is busy ({answer.code}).", "try again in a minute"
        )
    else:
        said = f"not looked at: {answer.code}: {answer.message.rstrip('.')}."
        yield warn(check, said, f"check the region, the network, and {naming}")


def check_sold(check: str, zone: str, missing: Sequence[str], *, of: int) -> Finding:
    """`missing`: those of a pool's `of` types that the zone does not sell."""
    names = ", ".join(missing)
    if not missing:
        return passed(check, f"the zone sells all of them ({of}).")
    if len(missing) == of:
        fix = f"take {zone} out of the pool's zones, or name types that it has"
        return fail(check, f"the zone sells none of them ({names}).", fix)
    fix = "fewer types mean fewer chances for a spot node; name others"
    return warn(check, f"the zone does not sell {names}.", fix)


def check_image(reference: str, there: bool) -> Iterator[Finding]:
    check, name = "image", reference.partition("/")[2][:60]
    if not there:
        yield fail(check, f"{name} is not in its registry.", "pulumi up pushes it")
    elif "@sha256:" not in reference:
        yield warn(
            check,
            f"{name} is there, by a tag, which may come to mean another image.",
            "name it by its digest",
        )
    else:
        yield passed(check, f"{name} is in its registry.")
