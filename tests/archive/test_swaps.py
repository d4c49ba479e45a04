"""Whoever runs a job can rename things below output/ while the archive unpacks there."""

import hashlib
import io
import os
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, cast

import pytest

from spotrain.archive import code, tarballs
from spotrain.archive.code import Upload
from spotrain.archive.errors import Refused

LEDGER = b'{"name":"digits"}\n'


class Interrupted:
    """A stream that pauses for `swap` once its first entry has been read in part."""

    def __init__(self, packed: IO[bytes], swap: Callable[[], None]) -> None:
        self._packed, self._swap = packed, swap
        self._reads = 0

    def read(self, size: int = -1) -> bytes:
        self._reads += 1
        if self._reads == 3:
            self._swap()
        return self._packed.read(size)


def tarball() -> bytes:
    """A large first file, then the one that somebody wants written elsewhere."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, data in {"lib/a": os.urandom(100_000), "lib/jobs.jsonl": b"forged"}.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


@pytest.mark.parametrize("swapped", ["lib", "", ".."])
def test_a_link_that_appears_while_code_is_unpacked_leads_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, swapped: str
) -> None:
    """In place of a folder in it, of its own folder, and of the one that holds both."""
    output, ledger = tmp_path / "output", tmp_path / "archive"
    for folder in (ledger / "code" / "lib", ledger / "lib", output):
        folder.mkdir(parents=True)
    held = [
        ledger / "jobs.jsonl",
        ledger / "lib" / "jobs.jsonl",
        ledger / "code" / "lib" / "jobs.jsonl",
    ]
    for file in held:
        file.write_bytes(LEDGER)
    before = sorted(ledger.rglob("*"))

    def swap() -> None:
        (begun,) = (output / "code").glob(".begun-*")
        victim = {"lib": begun / "code" / "lib", "": begun / "code", "..": begun}[swapped]
        victim.rename(tmp_path / "moved")
        victim.symlink_to(ledger)

    def pausing(packed: IO[bytes], folder: Path, check: Callable[[], None]) -> None:
        tarballs.unpack(cast(IO[bytes], Interrupted(packed, swap)), folder, check)

    monkeypatch.setattr(code, "unpack", pausing)
    data = tarball()
    upload = Upload(output, hashlib.sha256(data).hexdigest())
    upload.add(data)
    try:
        upload.publish()
    except Refused:
        pass
    else:
        assert swapped == "..", "the swap was not seen"
    assert [file.read_bytes() for file in held] == [LEDGER] * 3
    assert sorted(ledger.rglob("*")) == before
    published = output / "code" / hashlib.sha256(data).hexdigest()
    assert not published.is_symlink()
    if swapped != "..":
        assert not published.exists()


def test_a_file_that_is_sent_twice_is_refused(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for _ in range(2):
            archive.addfile(tarfile.TarInfo("train.py"))
    buffer.seek(0)
    with pytest.raises(Refused, match="twice"):
        tarballs.unpack(buffer, tmp_path, lambda: None)


def test_no_entry_goes_through_a_link_that_was_sent_before_it(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        link = tarfile.TarInfo("here")
        link.type, link.linkname = tarfile.SYMTYPE, "lib"
        archive.addfile(link)
        archive.addfile(tarfile.TarInfo("here/a.py"))
    buffer.seek(0)
    with pytest.raises(Refused, match="a link or a file"):
        tarballs.unpack(buffer, tmp_path, lambda: None)
