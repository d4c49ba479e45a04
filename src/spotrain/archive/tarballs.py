"""What somebody has sent as a .tar.gz, unpacked without becoming more than it may be.

Sizes in a tar are claims, and gzip makes a gigabyte of nothing out of a megabyte. So all that is
read or kept is bounded: names and other extensions of an entry, entries, what is made of them, and
bytes on the disk.
"""

import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final, NoReturn

from spotrain.archive.confinement import opened_folder
from spotrain.archive.errors import Refused
from spotrain.archive.new_tree import NewTree

UNPACKED_BYTES: Final = 1000 * 1000 * 1000
ENTRIES: Final = 50_000
EXTENSION_BYTES: Final = 16 << 10
"""Of one extended header: room for a name and a link's target of 4096 bytes each, and all else that
tar writes there. It is held in memory whole."""
EXTENSIONS_BYTES: Final = 32 << 20
"""Of all together: global ones add up."""
HEADERS: Final = 4 * ENTRIES
DEEPEST: Final = 100
"""Folders within folders: each entry is reached through all of its own."""
_EXTENSIONS: Final = frozenset(
    (
        tarfile.XHDTYPE,
        tarfile.XGLTYPE,
        tarfile.SOLARIS_XHDTYPE,
        tarfile.GNUTYPE_LONGNAME,
        tarfile.GNUTYPE_LONGLINK,
    )
)


def unpack(packed: IO[bytes], folder: Path, check: Callable[[], None]) -> None:
    """Files, which are read-only, folders, and links that stay inside. Raises Refused.

    `folder` is looked up once; what others put in its place, or in it, meanwhile is not followed.
    `check` is called again and again; what it raises ends the work.
    """
    with opened_folder(folder) as root:
        _unpack(packed, NewTree(root, _few(check)), check)


def _few(check: Callable[[], None]) -> Callable[[], None]:
    """For each thing that is made, and before it: one entry can ask for a hundred folders."""
    made = 0

    def count() -> None:
        nonlocal made
        made += 1
        if made > ENTRIES:
            raise _too_much()
        check()

    return count


def _unpack(packed: IO[bytes], tree: NewTree, check: Callable[[], None]) -> None:
    try:
        with tarfile.open(fileobj=packed, mode="r|gz", tarinfo=_counted_entries()) as archive:
            size = 0
            for number, member in enumerate(archive, 1):
                check()
                size += member.size
                if number > ENTRIES or size > UNPACKED_BYTES:
                    raise _too_much()
                _check(member)
                _make(archive, member, tree)
                # Else each entry stays in memory, with all its names.
                archive.members.clear()  # type: ignore[attr-defined]
    except RecursionError:
        raise Refused("an entry has hundreds of extended headers; send plain files.") from None
    except (tarfile.TarError, EOFError, ValueError) as error:
        raise Refused(f"what was sent is no whole .tar.gz ({error}); send it again.") from None
    except OSError as error:
        if error.errno is None:  # gzip's own: no compressed data, a wrong checksum
            raise Refused(f"what was sent is no whole .tar.gz ({error}); send it again.") from None
        raise


def _too_much() -> Refused:
    return Refused(
        f"unpacked it is more than {ENTRIES} files and folders or {UNPACKED_BYTES // 10**9} GB; "
        "leave data and results out."
    )


def _make(archive: tarfile.TarFile, member: tarfile.TarInfo, tree: NewTree) -> None:
    parts = _parts(member.name)
    if member.isdir():
        tree.make_folder(parts)
    elif not parts:
        raise Refused(f"{member.name[:200]!r} names no file; send plain files.")
    elif member.issym():
        tree.make_link(parts, member.linkname)
    else:
        with tree.new_file(parts, 0o555 if member.mode & 0o100 else 0o444) as file:
            source = archive.extractfile(member)
            assert source is not None, "_check lets nothing else pass"
            shutil.copyfileobj(source, file)


def _parts(name: str) -> tuple[str, ...]:
    """Raises Refused."""
    parts = PurePosixPath(name.lstrip("/")).parts
    if ".." in parts:
        raise Refused(f"{name[:200]!r} may lead outside of its folder; send plain files.")
    if len(parts) > DEEPEST:
        raise Refused(f"{name[:200]!r} is more than {DEEPEST} folders deep; send fewer.")
    return parts


def _counted_entries() -> type[tarfile.TarInfo]:
    """What tarfile makes of headers, each looked at before what it announces is read."""
    headers = extensions = 0

    class Entry(tarfile.TarInfo):
        @classmethod
        def frombuf(cls, *arguments: Any, **options: Any) -> "Entry":
            nonlocal headers, extensions
            entry = super().frombuf(*arguments, **options)
            headers += 1
            if entry.type in _EXTENSIONS:
                extensions += max(0, entry.size)
                _check_extension(entry.size, extensions)
            if headers > HEADERS:
                raise Refused(f"it has more than {HEADERS} headers; leave data and results out.")
            if entry.type == tarfile.GNUTYPE_SPARSE:
                _refuse_sparse(entry.name)
            return entry

        def _proc_gnusparse_10(self, *arguments: Any) -> None:
            """Its map is read before anybody is asked, and may be as long as the file."""
            _refuse_sparse(self.name)

    return Entry


def _check_extension(size: int, all_together: int) -> None:
    if not 0 <= size <= EXTENSION_BYTES or all_together > EXTENSIONS_BYTES:
        raise Refused(
            f"an entry's extended header has {size} bytes: at most {EXTENSION_BYTES} are taken, "
            f"and {EXTENSIONS_BYTES} of all together. Names are shorter; send plain files."
        )


def _refuse_sparse(name: str) -> NoReturn:
    raise Refused(f"{name[:200]!r} is a sparse file; pack it without --sparse.")


def _check(member: tarfile.TarInfo) -> None:
    """Beyond what tarfile's filter looks at: links go down only, so that no chain leads out."""
    name = member.name[:200]
    if member.size < 0:
        raise Refused(f"{name!r} has {member.size} bytes, which no file has; send plain files.")
    if member.issparse():
        _refuse_sparse(name)
    if not (member.isreg() or member.isdir() or member.issym()):
        raise Refused(f"{name!r} is no file, folder or symbolic link; send plain files only.")
    target = PurePosixPath(member.linkname)
    if member.issym() and (target.is_absolute() or ".." in target.parts):
        raise Refused(
            f"{name!r} links to {member.linkname[:200]!r}, which is not below its own folder; "
            "send a copy of what it links to."
        )
