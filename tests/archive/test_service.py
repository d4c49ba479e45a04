"""The archive over HTTP: the same answers as from its folder, and nothing for strangers."""

import hashlib
import io
import os
import tarfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest

from spotrain.archive import code, layout, tarballs
from spotrain.archive.client import Client
from spotrain.archive.errors import NotFound, Refused, Unavailable
from spotrain.archive.folder import Folder
from spotrain.archive.ledger_files import LedgerFiles
from spotrain.archive.log_files import JobLogs, LogBounds
from spotrain.archive.log_reader import LogQuery
from spotrain.archive.records import LogLine
from spotrain.ledger.entries import NodeEntry, Place
from tests.archive.entries import at, snapshot, stay, world
from tests.archive.served import asking, serving


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Of the archive, with a job that has ended."""
    made = tmp_path / "archive"
    files = LedgerFiles(made)
    files.keep(snapshot(world(1), world(2), stay(1), condition="Succeeded"), at(9_000))
    place = Place(pool="t4", zone="a", capacity="spot")
    files.keep_node(NodeEntry(name="n", uid="n1", place=place, gpus=1, created_at=at(0)))
    return made


@pytest.fixture
def output(tmp_path: Path) -> Path:
    made = tmp_path / "shared" / "output"
    made.mkdir(parents=True)
    return made


@pytest.fixture
def url(folder: Path, output: Path) -> Iterator[str]:
    with serving(folder, output) as address:
        yield address


@pytest.fixture
def client(url: str) -> Iterator[Client]:
    with asking(url) as made:
        yield made


def lines(*seconds: int) -> list[LogLine]:
    return [
        LogLine(
            at=f"2026-08-01T12:00:{second:02d}.000000000Z",
            worker=0,
            pod="digits-worker-0",
            pod_uid="p",
            line=f"loss {second}",
        )
        for second in seconds
    ]


def logs_of(folder: Path) -> JobLogs:
    return JobLogs(folder / layout.logs_folder("digits", "u1"), LogBounds())


def packed(entries: dict[str, bytes], *extra: tarfile.TarInfo) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, data in entries.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
        for info in extra:
            archive.addfile(info)
    return buffer.getvalue()


def send(client: Client, data: bytes) -> str:
    digest = hashlib.sha256(data).hexdigest()
    client.send_code(digest, io.BytesIO(data))
    return digest


# --- Ledger and logs ---


def test_over_http_everything_is_as_in_the_folder(client: Client, folder: Path) -> None:
    logs_of(folder).append(0, lines(1, 2, 3))
    here = Folder(folder)
    assert client.jobs() == here.jobs()
    assert client.ledger("digits") == here.ledger("digits", "u1")
    assert client.nodes(since=at(5), until=at(6)) == here.nodes() != []
    assert client.stays() == here.stays() != []
    assert client.stays(since=at(5_000)) == []
    assert list(client.logs("digits")) == lines(1, 2, 3)
    query = LogQuery(worker=0, since=lines(2)[0].at, until=lines(3)[0].at)
    assert list(client.logs("digits", query=query)) == lines(2)


def test_a_long_log_comes_whole(client: Client, folder: Path) -> None:
    many = [replace(line, line="x" * 100) for line in lines(*range(60))] * 30
    logs_of(folder).append(0, many)
    assert len(list(client.logs("digits"))) == len(many)


def test_a_follower_hears_what_is_said_later_and_the_end(client: Client, folder: Path) -> None:
    files = LedgerFiles(folder)
    files.keep(snapshot(uid="u2", name="running"), at(0))
    logs = JobLogs(folder / layout.logs_folder("running", "u2"), LogBounds())
    logs.append(0, lines(1))
    heard = client.logs("running", follow=True)
    assert next(heard) == lines(1)[0]
    logs.append(0, lines(2))
    assert next(heard) == lines(2)[0]
    files.keep(snapshot(uid="u2", name="running", condition="Failed"), at(9))
    assert list(heard) == []


def test_an_unknown_job_is_not_found(client: Client) -> None:
    for ask in (client.ledger, client.job, lambda name: list(client.logs(name))):
        with pytest.raises(NotFound, match="no job nobody"):
            ask("nobody")
    with pytest.raises(NotFound):
        client.ledger("digits", "another-uid")


@pytest.mark.parametrize("query", ["since=yesterday", "worker=first", "until=2026-99-01"])
def test_a_question_that_makes_no_sense_is_refused_with_the_rule(url: str, query: str) -> None:
    answer = httpx2.get(f"{url}/v1/jobs/digits/logs?{query}", trust_env=False)
    assert answer.status_code == 400
    assert query.split("=")[0] in answer.json()["error"]


# --- Strangers ---


def test_a_page_in_a_browser_gets_nothing(url: str) -> None:
    for headers in ({"Origin": "http://evil.example"}, {"Host": "evil.example"}):
        answer = httpx2.get(f"{url}/v1/jobs", headers=headers, trust_env=False)
        assert answer.status_code in (400, 403)


# --- A volume that hangs ---


def test_a_ledger_that_hangs_is_told_and_leaves_the_rest_alone(
    tmp_path: Path, output: Path
) -> None:
    """Opening a pipe that nobody writes to waits for ever, as a dead file server makes one wait."""
    hung = tmp_path / "hung"
    (hung / "ledger").mkdir(parents=True)
    os.mkfifo(hung / layout.JOBS_FILE)
    with serving(hung, output, patience=3.0) as address, asking(address) as client:
        with ThreadPoolExecutor(10) as threads:  # more than the archive has for this volume
            answers = [threads.submit(client.jobs) for _ in range(10)]
        for answer in answers:
            with pytest.raises(Unavailable, match="has not answered"):
                answer.result()
        assert not client.has_code("0" * 64)
        assert client.problems() == {}
    with open(hung / layout.JOBS_FILE, "wb", buffering=0):
        pass  # lets go of the threads


def test_health_names_what_is_wrong(folder: Path, output: Path) -> None:
    problems = {"output": "the volume has not answered for 31 s"}
    with serving(folder, output, problems) as address:
        assert httpx2.get(f"{address}/healthz", trust_env=False).status_code == 503
        with asking(address) as client:
            assert client.problems() == problems


# --- Code ---


def test_code_is_there_whole_once_it_was_sent(client: Client, output: Path) -> None:
    data = packed({"train.py": b"print(1)\n", "lib/a.py": b"A = 1\n"})
    digest = hashlib.sha256(data).hexdigest()
    assert not client.has_code(digest)
    for _ in range(2):
        client.send_code(digest, io.BytesIO(data))
    assert client.has_code(digest)
    place = output / "code" / digest
    assert (place / "train.py").read_bytes() == b"print(1)\n"
    assert (place / "lib" / "a.py").is_file()
    assert [entry.name for entry in (output / "code").iterdir()] == [digest]


def link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


@pytest.mark.parametrize(
    ("data", "said"),
    [
        pytest.param(packed({"../../evil": b"x"}), "outside", id="a path out"),
        pytest.param(packed({}, link("a", "/etc")), "links to", id="an absolute link"),
        pytest.param(packed({}, link("a", "b/../../..")), "links to", id="a link out"),
        pytest.param(packed({}, link("a", "b", tarfile.LNKTYPE)), "no file", id="a hard link"),
        pytest.param(packed({}, link("a", "", tarfile.CHRTYPE)), "no file", id="a device"),
        pytest.param(packed({}, link("a", "", tarfile.FIFOTYPE)), "no file", id="a pipe"),
        pytest.param(b"not a tar at all", "no whole", id="no tar"),
        pytest.param(packed({"a": b"x" * 9_000_000})[:-4_000], "no whole", id="cut"),
    ],
)
def test_what_could_get_out_of_its_folder_is_refused_and_leaves_nothing(
    client: Client, output: Path, data: bytes, said: str
) -> None:
    with pytest.raises(Refused, match=said):
        send(client, data)
    assert list((output / "code").iterdir()) == []
    assert not (output.parent / "evil").exists()


def test_a_link_to_a_file_beside_it_is_fine(client: Client, output: Path) -> None:
    digest = send(client, packed({"a.py": b"A = 1\n"}, link("b.py", "a.py")))
    assert (output / "code" / digest / "b.py").read_bytes() == b"A = 1\n"


def test_code_that_jobs_share_is_read_only(client: Client, output: Path) -> None:
    script = tarfile.TarInfo("run.sh")
    script.mode = 0o700
    digest = send(client, packed({"lib/deep/a.py": b"A = 1\n"}, script, link("b.py", "lib")))
    place = output / "code" / digest
    there = [place, *(path for path in place.rglob("*") if not path.is_symlink())]
    assert {path.relative_to(place).as_posix(): path.stat().st_mode & 0o777 for path in there} == {
        ".": 0o555,
        "lib": 0o555,
        "lib/deep": 0o555,
        "lib/deep/a.py": 0o444,
        "run.sh": 0o555,
    }


def test_what_was_changed_on_its_way_is_refused(client: Client, output: Path) -> None:
    with pytest.raises(Refused, match="Send it again"):
        client.send_code("0" * 64, io.BytesIO(packed({"a": b"x"})))
    with pytest.raises(Refused, match="no SHA-256"):
        client.send_code("latest", io.BytesIO(b""))
    assert list((output / "code").iterdir()) == []


def test_more_than_the_limits_is_refused(
    client: Client, output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(tarballs, "UNPACKED_BYTES", 10_000)
        with pytest.raises(Refused, match="unpacked it is more"):
            send(client, packed({"a": b"\0" * 20_000}))
    with monkeypatch.context() as patched:
        patched.setattr(code, "PACKED_BYTES", 10_000)
        with pytest.raises(Refused, match="packed; leave data"):
            send(client, packed({"a": os.urandom(20_000)}))
    assert list((output / "code").iterdir()) == []


def test_a_link_in_place_of_the_code_folder_leads_nowhere(
    client: Client, output: Path, folder: Path
) -> None:
    """Whoever runs a job can write to output/; the archive sees more than he does."""
    (output / "code").symlink_to(folder)
    with pytest.raises(Refused, match="link"):
        send(client, packed({"a": b"x"}))
    assert {entry.name for entry in folder.iterdir()} == {"ledger"}


def test_what_cut_off_uploads_left_goes_after_an_hour(output: Path) -> None:
    """Also where it was read-only already, and whatever a job made under such a name."""
    left = output / "code" / ".begun-0123456789abcdef"
    (left / "code" / "lib").mkdir(parents=True)
    (left / "packed").write_bytes(b"begun")
    (left / "code" / "lib" / "a.py").write_bytes(b"")
    (left / "code" / "lib").chmod(0o555)
    os.mkfifo(output / "code" / ".begun-pipe")
    (output / "code" / ".begun-link").symlink_to(output)
    code.sweep(output, left.stat().st_mtime + 3_000)
    assert left.exists()
    code.sweep(output, left.stat().st_mtime + 4_000)
    assert not left.exists()
