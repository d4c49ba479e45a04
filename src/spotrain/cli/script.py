"""The script that a job's workers are given: is it where they will look?

Refused is only what nobody can find. Options of `spotrain-run` before it, -m among them, an
absolute path, a variable, and all that an image may hold are left to the workers.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from os import pardir, readlink
from os.path import basename, isabs, isdir, isfile, normpath
from pathlib import Path
from typing import Any, Final

from spotrain.cli.code import ALWAYS_LEFT_OUT, IGNORE_FILES, choose_files, left_out_by
from spotrain.cli.errors import UserError
from spotrain.cli.submission import container_of

ENDING: Final = ".py"
MAIN: Final = "__main__.py"
SHOWN: Final = 3
"""Near names in a message."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where workers look for their script: a folder of this machine, or what is sent of it."""

    folder: Path
    about: str
    """In words: to what it is that folder."""
    is_sent: bool = False
    """Then what its ignore file names is not there."""
    takes_commands: bool = False
    """The image's entry point is somebody's own: what does not end as a script may be a command."""


def refuse_missing_script(arguments: Sequence[str], place: Place) -> None:
    """`arguments`: as the container has them. Raises UserError."""
    word = next(iter(arguments), "")
    if word.startswith(("-", "/")) or "$(" in word or not word:
        return
    if place.takes_commands and not word.endswith(ENDING):
        return
    path = place.folder / word
    if isfile(path / MAIN):  # Python runs such a folder
        word = f"{word}/{MAIN}"
    elif not isfile(path):
        what = "is a folder" if isdir(path) else "there is no such script"
        raise UserError(f"{word}: {what} in {_shown(place)}. {_hint(word, place)}")
    if not place.is_sent:
        return
    if Path(normpath(word)).parts[:1] == (pardir,):
        raise UserError(f"{word}: lies outside {_shown(place)}; send a folder that has it.")
    for path in _way_to(word, place.folder):
        if pattern := left_out_by(place.folder, path):
            behind = "" if path == Path(normpath(word)) else f"lies behind a link to {path}, which "
            raise UserError(
                f"{word}: {behind}stays here by the pattern {pattern!r}; take that out of "
                f"{' or '.join(IGNORE_FILES)}, or put the script elsewhere "
                f"({' '.join(ALWAYS_LEFT_OUT)} are never sent)."
            )


def forgotten_code(arguments: Sequence[str], here: Path) -> str:
    """A remark on a script that lies in this folder, where it is looked for in an image; empty:
    none is due."""
    word = next(iter(arguments), "")
    if word.startswith(("-", "/")) or not isfile(here / word):
        return ""
    return (
        f"{word} lies here, and is not sent: the job looks for it in its image. If that has none, "
        "delete the job, and submit it with --code ."
    )


def refuse_missing_in_document(document: Mapping[str, Any], folder: Path, about: str) -> None:
    """Of a job that runs on this machine, where `folder` stands for the image's working directory.
    Raises UserError."""
    container = container_of(document)
    if not (container.get("command") or container.get("workingDir")):
        arguments = [str(word) for word in container.get("args") or []]
        refuse_missing_script(arguments, Place(folder=folder, about=about))


def _way_to(word: str, folder: Path) -> list[Path]:
    """The script and what it lies behind, relative to the folder: links are sent as they are.
    Raises UserError where one of them leads nowhere from where it is sent to."""
    passed = [Path(normpath(word))]
    left = deque(passed[0].parts)
    here = Path()
    while left:
        step = here / left.popleft()
        if not (folder / step).is_symlink():
            here = step
            continue
        target = readlink(folder / step)
        way = Path(normpath(here / target))
        # The folder itself has another name there, so no way leads out of it and in again.
        if isabs(target) or way.parts[:1] == (pardir,):
            raise UserError(
                f"{word}: is or lies behind a link to {target}, which leads nowhere from where it "
                "is sent to; put the script itself there, or a relative link within the folder."
            )
        left = deque((*way.parts, *left))
        here = Path()
        passed.append(Path(*left))
    return passed


def _shown(place: Place) -> str:
    return f"{place.folder.resolve()}, {place.about}"


def _hint(word: str, place: Place) -> str:
    if near := nearest(word, _scripts(place.folder)):
        return f"Did you mean {' or '.join(near)}?"
    return "Give its path from there, or -m and the name of a module."


def nearest(word: str, scripts: Sequence[str]) -> list[str]:
    """Of the scripts those of the same name elsewhere, else those of names that are like it."""
    same = [each for each in scripts if basename(each) == basename(word)]
    return same[:SHOWN] or get_close_matches(word, scripts, n=SHOWN)


def _scripts(folder: Path) -> list[str]:
    """Empty where it is too large, or cannot be read: then nothing near is named."""
    try:
        return [each.as_posix() for each in choose_files(folder) if each.suffix == ENDING]
    except (UserError, OSError):
        return []
