"""What somebody has sent as a .tar.gz, unpacked without becoming more than it may be.

Sizes in a tar are claims, and gzip makes a gigabyte of nothing out of a megabyte. So all that is
read or kept is bounded: names and other extensions of an entry, entries, and bytes on the disk.
"""

import tarfile
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final, NoReturn

from spotrain.archive.errors import Refused

UNPACKED_BYTES: Final = 1000 * 1000 * 1000
ENTRIES: Final = 50_000
EXTENSION_BYTES: Final = 16 << 10
"""Of one extended header: room for a name and a link's target of 4096 bytes each, and all else that
tar writes there. It is held in memory whole."""
EXTENSIONS_BYTES: Final = 32 << 20
"""Of all together: global ones add up."""
HEADERS: Final = 4 * ENTRIES
_EXTENSIONS: Final = frozenset(
    (
        tarfile.XHDTYPE,
        tarfile.XGLTYPE,
        tarfile.SOLARIS_XHDTYPE,
        tarfile.GNUTYPE_LONGNAME,
        tarfile.GNUTYPE_LONGLINK,
    )
)


def unpack(packed: IO[bytes], folder: Path) -> None:
    """Files, folders and links that stay inside. Raises Refused."""
    try:
        with tarfile.open(fileobj=packed, mode="r|gz", tarinfo=_counted_entries()) as archive:
            size = 0
            for number, member in enumerate(archive, 1):
                size += member.size
                if number > ENTRIES or size > UNPACKED_BYTES:
                    raise Refused(
                        f"unpacked it is more than {ENTRIES} files or "
                        f"{UNPACKED_BYTES // 10**9} GB; leave data and results out."
                    )
                _check(member)
                archive.extract(member, folder, filter="data")
                # Else each entry stays in memory, with all its names.
                archive.members.clear()  # type: ignore[attr-defined]
    except tarfile.FilterError as error:
        raise Refused(f"{error}: such an entry is not taken; send plain files.") from None
    except RecursionError:
        raise Refused("an entry has hundreds of extended headers; send plain files.") from None
    except (tarfile.TarError, EOFError, ValueError) as error:
        raise Refused(f"what was sent is no whole .tar.gz ({error}); send it again.") from None
    except OSError as error:
        if error.errno is None:  # gzip's own: no compressed data, a wrong checksum
            raise Refused(f"what was sent is no whole .tar.gz ({error}); send it again.") from None
        raise


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
