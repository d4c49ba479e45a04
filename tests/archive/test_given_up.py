"""Code whose sender gave up while the archive unpacked it: published whole, or not at all."""

import hashlib
import io
import os
import tarfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any

import pytest

from spotrain.archive import code, server, tarballs
from spotrain.archive.client import SEND_SECONDS, SPARE_SECONDS
from spotrain.archive.code import PACKED_BYTES, Upload, has_code
from spotrain.archive.errors import Unavailable
from spotrain.archive.file_work import unpacking_seconds
from tests.archive.served import asking, serving

LONG = 60.0


def tarball(name: str = "lib/a.py") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        archive.addfile(tarfile.TarInfo(name))
    return buffer.getvalue()


def test_what_is_given_up_while_it_is_unpacked_is_left_alone_and_never_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unpacked, go_on = threading.Event(), threading.Event()

    def slow(packed: IO[bytes], folder: Path, check: Callable[[], None]) -> None:
        tarballs.unpack(packed, folder, check)
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


def test_what_is_given_up_makes_no_further_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it kept its thread for as long as the rest of a thousand folders took."""
    made: list[str] = []
    mkdir = os.mkdir

    def given_up_at_the_second(name: str, *arguments: Any, **options: Any) -> None:
        mkdir(name, *arguments, **options)
        if options:  # by a descriptor: a folder that was sent
            made.append(name)
            if len(made) == 2:
                upload.discard()

    data = tarball("/".join("abcdefgh") + "/a.py")
    upload = Upload(tmp_path, hashlib.sha256(data).hexdigest())
    upload.add(data)
    monkeypatch.setattr(os, "mkdir", given_up_at_the_second)
    with pytest.raises(Unavailable, match="given up"):
        upload.publish()
    assert made == ["a", "b"]
    assert list((tmp_path / "code").iterdir()) == []


def test_code_that_takes_its_threads_for_long_leaves_the_other_answers_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()

    def stuck(*_: object) -> None:
        assert go_on.wait(LONG)

    monkeypatch.setattr(code, "unpack", stuck)
    monkeypatch.setattr(server, "unpacking_seconds", lambda _: 0.05)
    folder, output = tmp_path / "archive", tmp_path / "output"
    output.mkdir()
    with serving(folder, output, patience=3.0) as address, asking(address) as client:
        try:
            for number in range(10):  # more than the archive has threads for this volume
                data = tarball(f"{number}.py")
                with pytest.raises(Unavailable, match="has not answered"):
                    client.send_code(hashlib.sha256(data).hexdigest(), io.BytesIO(data))
            assert not client.has_code("0" * 64)
        finally:
            go_on.set()


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
