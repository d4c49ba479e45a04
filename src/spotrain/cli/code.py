"""The working directory of a submission: what of it is sent, as one file with one name.

The name is the SHA-256 of the file, which is the same whenever its contents are: nothing is sent
twice, and a job names exactly what it runs.
"""

import gzip
import hashlib
import os
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO, Final, cast

from pathspec import GitIgnoreSpec

from spotrain import contract
from spotrain.cli.errors import UserError
from spotrain.cli.wording import size

IGNORE_FILE: Final = ".spotrainignore"
IGNORE_FILES: Final = (IGNORE_FILE, ".gitignore")
"""The first of them that there is counts."""
ALWAYS_LEFT_OUT: Final = (".git/", ".spotrain/", ".venv/", "__pycache__/", "*.pyc")
MOST_PACKED: Final = 100 * 1000 * 1000
"""As much as the archive takes."""
MOST_UNPACKED: Final = 1000 * 1000 * 1000
MOST_FILES: Final = 50_000
CHUNK: Final = 1 << 20


@dataclass(frozen=True)
class Limits:
    packed: int = MOST_PACKED
    unpacked: int = MOST_UNPACKED
    files: int = MOST_FILES


LIMITS: Final = Limits()


@dataclass(frozen=True)
class Packed:
    file: BinaryIO
    """Open, at its beginning."""
    sha256: str
    size: int


def code_folder(sha256: str) -> str:
    """Where workers find the code."""
    return f"{contract.VOLUME_MOUNT}/{contract.OUTPUT_DIR}/{contract.CODE_DIR}/{sha256}"


@contextmanager
def packed_code(folder: Path, limits: Limits = LIMITS) -> Iterator[Packed]:
    """The folder as a .tar.gz. Raises UserError where it is too large, or cannot be read."""
    try:
        paths = choose_files(folder, limits)
        with tempfile.TemporaryFile() as file:
            _pack(folder, paths, file)
            length = file.tell()
            if length > limits.packed:
                raise _too_large(f"{size(length)} packed", size(limits.packed), folder, paths)
            file.seek(0)
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            file.seek(0)
            yield Packed(cast(BinaryIO, file), digest, length)
    except OSError as error:
        raise UserError(
            f"--code {folder}: {error.filename or folder} cannot be read: {error.strerror}. Let it "
            f"be read, or name it in {IGNORE_FILE}."
        ) from None


def choose_files(folder: Path, limits: Limits = LIMITS) -> list[Path]:
    """What is sent, relative to the folder and sorted. Nothing is read but sizes.

    Raises:
        UserError: it is no folder, holds nothing, or too much.
    """
    if os.path.isfile(folder):
        raise UserError(
            f"--code {folder}: is a file, and a folder is sent: give the one that it lies in, "
            f"--code {folder.parent}, and the script behind --."
        )
    if not os.path.isdir(folder):
        raise UserError(f"--code {folder}: there is no such folder.")
    left_out = _left_out(folder)
    found: list[Path] = []
    total = 0
    for path in _files(folder, folder, left_out):
        found.append(path.relative_to(folder))
        total += path.lstat().st_size
        if len(found) > limits.files:
            raise _too_large(f"more than {limits.files:,} files", f"{limits.files:,}", folder, [])
        if total > limits.unpacked:
            raise _too_large(f"more than {size(total)}", size(limits.unpacked), folder, found)
    if not found:
        raise UserError(f"--code {folder}: nothing in it is left to send; look at {IGNORE_FILE}.")
    return sorted(found)


def _files(folder: Path, root: Path, left_out: GitIgnoreSpec) -> Iterator[Path]:
    """Files and links below `folder`; folders that are left out are not even looked into."""
    for entry in sorted(os.scandir(folder), key=lambda each: each.name):
        path = Path(entry.path)
        is_folder = entry.is_dir(follow_symlinks=False)
        name = path.relative_to(root).as_posix() + ("/" if is_folder else "")
        if left_out.match_file(name):
            continue
        if is_folder:
            yield from _files(path, root, left_out)
        elif entry.is_symlink() or entry.is_file():
            yield path


def left_out_by(folder: Path, path: Path) -> str:
    """The pattern by which a file of the folder is not sent; empty: it is. Raises UserError."""
    patterns = _left_out(folder)
    # What lies in a folder that is left out goes with it, whatever other patterns say.
    above = [f"{each.as_posix()}/" for each in reversed(path.parents) if each.name]
    for name in (*above, path.as_posix()):
        found = patterns.check_file(name)
        if found.include and found.index is not None:
            return str(patterns.patterns[found.index].pattern)
    return ""


def _left_out(folder: Path) -> GitIgnoreSpec:
    for name in IGNORE_FILES:
        if (folder / name).is_file():
            try:
                lines = (folder / name).read_text().splitlines()
                return GitIgnoreSpec.from_lines([*ALWAYS_LEFT_OUT, *lines])
            except ValueError as error:  # no text, or no patterns
                raise UserError(
                    f"--code {folder}: {name} cannot be read: {error}. Its lines are patterns as "
                    "git has them; mend it."
                ) from None
    return GitIgnoreSpec.from_lines(ALWAYS_LEFT_OUT)


def _pack(folder: Path, paths: list[Path], file: IO[bytes]) -> None:
    """The same bytes for the same contents: no times, owners or order of the file system."""
    with (
        gzip.GzipFile(fileobj=file, mode="wb", mtime=0, filename="") as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for path in paths:
            member = archive.gettarinfo(str(folder / path), arcname=path.as_posix())
            if member.islnk():  # a second name of a file; a copy says the same
                member.type, member.linkname = tarfile.REGTYPE, ""
                member.size = (folder / path).lstat().st_size
            member.mtime = member.uid = member.gid = 0
            member.uname = member.gname = ""
            member.mode = 0o755 if member.mode & 0o100 else 0o644
            if member.isreg():
                with (folder / path).open("rb") as source:
                    archive.addfile(member, source)
            else:
                archive.addfile(member)


def _too_large(what: str, limit: str, folder: Path, paths: list[Path]) -> UserError:
    """With what takes the most room: that is what should stay at home."""
    room: dict[str, int] = {}
    for path in paths:
        top = path.parts[0]
        room[top] = room.get(top, 0) + (folder / path).lstat().st_size
    largest = max(room, key=lambda name: room[name], default="")
    hint = f" (most of it is {largest})" if largest else ""
    return UserError(
        f"--code {folder}: {what}{hint}, and at most {limit} can be sent. Name data and results in "
        f"{IGNORE_FILE}; data sets belong on the shared volume."
    )
