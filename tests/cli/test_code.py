"""What of a working directory is sent with a job."""

import os
import tarfile
from pathlib import Path

import pytest

from spotrain.archive.code import PACKED_BYTES
from spotrain.archive.tarballs import ENTRIES, UNPACKED_BYTES, unpack
from spotrain.cli.code import Limits, choose_files, packed_code
from spotrain.cli.errors import UserError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    for name in ("train.py", "lib/model.py", "data/large.bin", ".git/config", "lib/x.pyc"):
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_text(name)
    (made / "alias.py").symlink_to("train.py")
    return made


def names(folder: Path) -> list[str]:
    return [path.as_posix() for path in choose_files(folder)]


def test_everything_is_sent_but_what_nobody_wants(folder: Path) -> None:
    assert names(folder) == ["alias.py", "data/large.bin", "lib/model.py", "train.py"]


def test_the_ignore_file_is_read_as_git_reads_its_own(folder: Path) -> None:
    (folder / ".gitignore").write_text("data/\n*.py\n!train.py\n")
    assert names(folder) == [".gitignore", "train.py"]
    (folder / ".spotrainignore").write_text("data/\n.*ignore\n")
    assert names(folder) == ["alias.py", "lib/model.py", "train.py"]


def test_what_the_archive_unpacks_is_what_was_sent(folder: Path, tmp_path: Path) -> None:
    os.link(folder / "train.py", folder / "twin.py")
    (folder / "run.sh").write_text("#!/bin/sh")
    (folder / "run.sh").chmod(0o700)
    with packed_code(folder) as packed:
        (tmp_path / "there").mkdir()
        unpack(packed.file, tmp_path / "there", lambda: None)
    assert (tmp_path / "there" / "twin.py").read_text() == "train.py"
    assert (tmp_path / "there" / "alias.py").readlink() == Path("train.py")
    assert (tmp_path / "there" / "run.sh").stat().st_mode & 0o100
    assert not (tmp_path / "there" / "train.py").stat().st_mode & 0o100
    assert not (tmp_path / "there" / ".git").exists()


def test_the_same_contents_have_the_same_name_whatever_their_times_and_modes(
    folder: Path, tmp_path: Path
) -> None:
    with packed_code(folder) as packed:
        first = packed.sha256
    os.utime(folder / "train.py", (0, 0))
    (folder / "train.py").chmod(0o600)
    with packed_code(folder) as packed:
        assert packed.sha256 == first
        with tarfile.open(fileobj=packed.file) as archive:
            assert {member.mtime for member in archive} == {0}
    (folder / "train.py").write_text("another")
    with packed_code(folder) as packed:
        assert packed.sha256 != first


@pytest.mark.parametrize(
    ("limits", "says"),
    [
        pytest.param(Limits(files=2), "more than 2 files", id="files"),
        pytest.param(Limits(packed=10), "packed", id="packed"),
    ],
)
def test_too_much_is_refused_with_what_to_leave_out(
    folder: Path, limits: Limits, says: str
) -> None:
    with pytest.raises(UserError, match=says) as refused, packed_code(folder, limits):
        pass
    assert ".spotrainignore" in refused.value.message


def test_two_gigabytes_are_refused_before_a_byte_is_read(folder: Path) -> None:
    with (folder / "data" / "large.bin").open("wb") as file:
        file.truncate(2 * 1000**3)  # takes no room, and would take minutes to read
    with pytest.raises(UserError, match="most of it is data"):
        choose_files(folder)


@pytest.mark.parametrize("empty", [True, False])
def test_a_folder_with_nothing_to_send_is_refused(tmp_path: Path, empty: bool) -> None:
    folder = tmp_path / "empty"
    if empty:
        folder.mkdir()
    with pytest.raises(UserError, match="nothing in it" if empty else "no such folder"):
        choose_files(folder)


def test_the_archive_takes_as_much_as_is_sent() -> None:
    assert Limits() == Limits(packed=PACKED_BYTES, unpacked=UNPACKED_BYTES, files=ENTRIES)
