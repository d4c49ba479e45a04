"""Whether there is as much of a quota as nodes draw on it; alike on every cloud."""

from collections.abc import Sequence

from spotrain.doctor.finding import Finding, fail, passed, warn
from spotrain.quotas import draws as arithmetic
from spotrain.quotas.draws import Draw


def judge(check: str, limit: float, draws: Sequence[Draw], *, has: str, fix: str) -> Finding:
    """Against the most that may be wanted; too little for one node that trains is a failure.

    `has`: what there is, in words.
    """
    most, least = arithmetic.most(draws), arithmetic.least(draws)
    said = f"{has}; {arithmetic.names(draws)} may want {most}."
    if limit < least:
        return fail(check, f"{said} The smallest node has {least}: none can be had.", fix)
    if limit < most:
        return warn(check, said, fix)
    return passed(check, said)
