"""What a sweep tries, in the override grammar of Hydra: lr=0.1,0.01 layers=range(2,5) tag='a,b'.

Hydra's own parser reads it: quotes, ranges and choices have corners. Of the rest of Hydra nothing
is used, and it is imported only where something is read.
"""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from math import prod
from pathlib import Path
from typing import Any, Final

from spotrain.cli.errors import UserError

EXAMPLE: Final = "lr=0.1,0.01 or layers='range(2,5)'"
LINES: Final = "lines such as lr=0.1 batch=32, one a job"
Values = Mapping[str, str]
"""What one job is given: key -> value, as the script reads it."""


@dataclass(frozen=True)
class Axis:
    """One key and all that is tried for it."""

    key: str
    values: tuple[str, ...]


def read_axes(words: Sequence[str], *, most: int) -> list[Axis]:
    """KEY=VALUES each. Raises UserError, also for one of more than `most` values."""
    axes = [_read_axis(word, most) for word in words]
    keys = [axis.key for axis in axes]
    if twice := next((key for key in keys if keys.count(key) > 1), None):
        raise UserError(f"{twice}: given twice; write all of its values after one {twice}=.")
    return axes


def combine(axes: Sequence[Axis], *, most: int) -> list[Values]:
    """Every combination, the last key changing fastest. Raises UserError where there are more."""
    check_size(prod(len(axis.values) for axis in axes), most)
    keys = [axis.key for axis in axes]
    return [dict(zip(keys, each, strict=True)) for each in product(*(a.values for a in axes))]


def read_list(path: Path) -> list[list[str]]:
    """The lines of a file, each KEY=VALUES words as in a shell; # begins a remark."""
    try:
        lines = path.read_text().splitlines()
        found = [shlex.split(line, comments=True) for line in lines]
    except OSError as error:
        raise UserError(f"--list {path}: {error.strerror}; give a file of {LINES}.") from None
    except UnicodeDecodeError:
        raise UserError(f"--list {path}: is no UTF-8 text; give a file of {LINES}.") from None
    except ValueError as error:  # a quote that is not closed
        raise UserError(f"--list {path}: {error}; give a file of {LINES}.") from None
    if not any(found):
        raise UserError(f"--list {path}: holds nothing; give a file of {LINES}.")
    return [words for words in found if words]


def distinct(jobs: Iterable[Values]) -> list[Values]:
    """Without those that were there before: lr=0.1,0.1 is one job."""
    return list({tuple(sorted(values.items())): values for values in reversed([*jobs])}.values())[
        ::-1
    ]


def check_size(jobs: int, most: int) -> None:
    if jobs > most:
        raise UserError(
            f"this sweep has {jobs:,} jobs, and {most:,} are taken for a slip of the keyboard: "
            f"narrow it, or say --max-jobs {jobs}."
        )


def _read_axis(word: str, most: int) -> Axis:
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.core.override_parser.types import OverrideType
    from hydra.errors import HydraException

    try:
        override = OverridesParser.create().parse_override(word)
    except HydraException as error:
        said = " ".join(str(error).split())
        raise UserError(f"{word!r} cannot be read: {said}. Write {EXAMPLE}.") from None
    if override.type is not OverrideType.CHANGE or override.package is not None:
        raise UserError(f"{word!r}: only KEY=VALUES is known here, such as {EXAMPLE}.")
    key = override.key_or_group
    found = tuple(dict.fromkeys(islice(_values(word, override), most + 1)))
    if len(found) > most:
        raise UserError(
            f"{key} has more than {most:,} values, which is taken for a slip of the keyboard; "
            "narrow it, or raise --max-jobs."
        )
    if not found or word.endswith("="):
        raise UserError(f"{word!r} gives {key} no value. Write {EXAMPLE}.")
    return Axis(key, found)


def _values(word: str, override: Any) -> Iterator[str]:
    from hydra.core.override_parser.types import ChoiceSweep, RangeSweep, Transformer

    if not override.is_sweep_override():
        yield _text(override.value())
        return
    if not isinstance(override.value(), ChoiceSweep | RangeSweep):
        raise UserError(f"{word!r}: only choices and ranges name their values; write {EXAMPLE}.")
    yield from map(_text, override.sweep_iterator(transformer=Transformer.identity))


def _text(value: Any) -> str:
    """As the script reads it; a list keeps Hydra's spelling."""
    from hydra.core.override_parser.types import QuotedString, Transformer

    if isinstance(value, QuotedString):
        return str(value.text)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return str(value)
    return str(Transformer.encode(value))
