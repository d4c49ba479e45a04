"""Archives made to cost memory, time or disk: each is refused, and for little."""

import gzip
import io
import tarfile
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from spotrain.archive import tarballs
from spotrain.archive.errors import Refused
from spotrain.archive.tarballs import EXTENSION_BYTES, unpack

BLOCK = tarfile.BLOCKSIZE
HUGE = 100 << 20
MOST_MEMORY = 16 << 20
"""tarfile inflates ten kilobytes at once, of which gzip can make ten megabytes."""


def header(kind: bytes, size: int, name: str = "entry") -> bytes:
    entry = tarfile.TarInfo(name)
    entry.type, entry.size = kind, size
    return entry.tobuf(tarfile.GNU_FORMAT)


def padded(content: bytes) -> bytes:
    return content + bytes(-len(content) % BLOCK)


def record(key: str, value: str) -> bytes:
    """`<length> key=value\\n`, whose length counts its own digits."""
    rest = f" {key}={value}\n".encode()
    digits = len(str(len(rest) + len(str(len(rest)))))
    return str(len(rest) + digits).encode() + rest


def pax(kind: bytes, *records: bytes) -> bytes:
    content = b"".join(records)
    return header(kind, len(content)) + padded(content)


def packed(*pieces: Iterable[bytes] | bytes) -> io.BytesIO:
    """Compressed as it is made: a hundred megabytes of nothing take none here either."""
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", compresslevel=1) as stream:
        for piece in pieces:
            for part in (piece,) if isinstance(piece, bytes) else piece:
                stream.write(part)
        stream.write(bytes(2 * BLOCK))
    buffer.seek(0)
    return buffer


def unhurried() -> None:
    """Nobody gives it up."""


def much(byte: bytes = b"x") -> Iterator[bytes]:
    return (byte * (1 << 16) for _ in range(HUGE >> 16))


FILE = header(tarfile.REGTYPE, 0)
SPARSE_1_0 = pax(
    tarfile.XHDTYPE,
    record("GNU.sparse.major", "1"),
    record("GNU.sparse.minor", "0"),
    record("GNU.sparse.name", "holes"),
    record("GNU.sparse.realsize", "9"),
)
HOSTILE: dict[str, tuple[Callable[[], io.BytesIO], str]] = {
    "a long name": (lambda: packed(header(tarfile.GNUTYPE_LONGNAME, HUGE), much()), "extended"),
    "a long link": (lambda: packed(header(tarfile.GNUTYPE_LONGLINK, HUGE), much()), "extended"),
    "a pax header": (lambda: packed(header(tarfile.XHDTYPE, HUGE), much()), "extended"),
    "a global pax header": (lambda: packed(header(tarfile.XGLTYPE, HUGE), much()), "extended"),
    "many global pax headers": (
        lambda: packed(
            pax(tarfile.XGLTYPE, record(f"key{n}", "x" * (EXTENSION_BYTES - 100)))
            + header(tarfile.REGTYPE, 0, f"entry{n}")
            for n in range(3000)
        ),
        "all together",
    ),
    "headers within headers": (
        lambda: packed(pax(tarfile.XHDTYPE, record("a", "b")) for _ in range(5000)),
        "hundreds of extended headers",
    ),
    "a sparse file as GNU had it": (lambda: packed(header(tarfile.GNUTYPE_SPARSE, 0)), "sparse"),
    "a sparse file with a map of a hundred megabytes": (
        lambda: packed(SPARSE_1_0, header(tarfile.REGTYPE, HUGE), b"99999999\n", much(b"1")),
        "sparse",
    ),
    "a sparse file with its map in the header": (
        lambda: packed(
            pax(
                tarfile.XHDTYPE,
                record("GNU.sparse.size", "9"),
                record("GNU.sparse.map", "0,1"),
            ),
            header(tarfile.REGTYPE, 0),
        ),
        "sparse",
    ),
    "a size below zero": (
        lambda: packed(pax(tarfile.XHDTYPE, record("size", "-5")), FILE),
        "-5 bytes",
    ),
    "more than a gigabyte of nothing": (
        lambda: packed(header(tarfile.REGTYPE, 2 << 30)),
        "more than 50000 files and folders or 1 GB",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_archive_is_refused_for_little_memory(name: str, tmp_path: Path) -> None:
    make, said = HOSTILE[name]
    archive = make()
    tracemalloc.start()
    try:
        with pytest.raises(Refused, match=said):
            unpack(archive, tmp_path, unhurried)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # The global ones are bounded together; each of the others by itself.
    assert peak < MOST_MEMORY + (2 * tarballs.EXTENSIONS_BYTES if "global" in name else 0)


def test_headers_without_entries_are_bounded_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tarballs, "HEADERS", 10)
    few = packed(
        pax(tarfile.XHDTYPE, record("a", "b")) + header(tarfile.REGTYPE, 0, f"entry{n}")
        for n in range(6)
    )
    with pytest.raises(Refused, match="more than 10 headers"):
        unpack(few, tmp_path, unhurried)


def test_folders_that_an_entry_only_leads_through_count_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Thirty entries, which gzip packs to 300 bytes, ask for 1,380."""
    monkeypatch.setattr(tarballs, "ENTRIES", 1000)
    deep = "/a" * 45
    many = packed(header(tarfile.REGTYPE, 0, f"{n}{deep}/f") for n in range(30))
    with pytest.raises(Refused, match="more than 1000 files and folders"):
        unpack(many, tmp_path, unhurried)
    assert len(list(tmp_path.rglob("*"))) == 1000


def test_names_as_long_as_a_file_system_takes_are_fine(tmp_path: Path) -> None:
    """In both forms that tar has for them."""
    deep = "/".join(["d" * 100] * 5 + ["naïve.py"])
    for form in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w:gz", format=form) as archive:
            entry = tarfile.TarInfo(deep)
            entry.size, entry.mtime = 3, 1.5  # PAX has a header for a fraction
            archive.addfile(entry, io.BytesIO(b"abc"))
        buffer.seek(0)
        folder = tmp_path / str(form)
        folder.mkdir()
        unpack(buffer, folder, unhurried)
        assert (folder / deep).read_bytes() == b"abc"
