"""Code whose sender gave up while the archive unpacked it: published whole, or not at all."""

import hashlib
import io
import tarfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

import pytest

from spotrain.archive import code, tarballs
from spotrain.archive.client import SEND_SECONDS, SPARE_SECONDS
from spotrain.archive.code import PACKED_BYTES, Upload, has_code
from spotrain.archive.errors import Unavailable
from spotrain.archive.file_work import unpacking_seconds

LONG = 60.0


def tarball() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        archive.addfile(tarfile.TarInfo("lib/a.py"))
    return buffer.getvalue()


def test_what_is_given_up_while_it_is_unpacked_is_left_alone_and_never_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unpacked, go_on = threading.Event(), threading.Event()

    def slow(packed: IO[bytes], folder: Path) -> None:
        tarballs.unpack(packed, folder)
        unpacked.set()
        assert go_on.wait(LONG)

    monkeypatch.setattr(code, "unpack", slow)
    data = tarball()
    digest = hashlib.sha256(data).hexdigest()
    upload = Upload(tmp_path, digest)
    upload.add(data)
    with ThreadPoolExecutor(1) as threads:
        publishing = threads.submit(upload.publish)
        try:
            assert unpacked.wait(LONG)
            upload.discard()
            left = [path.name for path in (tmp_path / "code").rglob("*.py")]
        finally:
            go_on.set()
        with pytest.raises(Unavailable, match="given up"):
            publishing.result(LONG)
    assert left == ["a.py"], "what was being published was thinned"
    assert not has_code(tmp_path, digest)
    assert list((tmp_path / "code").iterdir()) == []


def test_what_was_given_up_before_it_was_whole_is_not_published(tmp_path: Path) -> None:
    data = tarball()
    upload = Upload(tmp_path, hashlib.sha256(data).hexdigest())
    upload.add(data)
    upload.discard()
    with pytest.raises(Unavailable, match="given up"):
        upload.publish()
    assert list((tmp_path / "code").iterdir()) == []


def test_more_code_may_take_longer() -> None:
    """As many small files as are taken, at 10 ms each."""
    assert unpacking_seconds(0) + SPARE_SECONDS <= SEND_SECONDS
    assert unpacking_seconds(PACKED_BYTES) > tarballs.ENTRIES * 0.010
