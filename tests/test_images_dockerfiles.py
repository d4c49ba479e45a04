"""Both Dockerfiles, read line by line: bases, users, order, and what is left behind."""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from spotrain import contract

ROOT = Path(__file__).parents[1]
KINDS = ("training", "controller")
DIGEST = re.compile(r"^[a-z0-9./-]+:[A-Za-z0-9._-]+@sha256:[0-9a-f]{64}$")


@dataclass(frozen=True)
class Step:
    word: str
    rest: str


def steps(kind: str) -> list[Step]:
    """The instructions of a Dockerfile, comments and line breaks gone."""
    text = (ROOT / f"{kind}-image" / "Dockerfile").read_text()
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    split = [" ".join(line.split()).partition(" ") for line in joined.splitlines() if line.strip()]
    return [Step(word, rest) for word, _, rest in split]


def final_stage(kind: str) -> list[Step]:
    """What is in the image: everything after the last FROM."""
    found = steps(kind)
    last = max(number for number, step in enumerate(found) if step.word == "FROM")
    return found[last:]


def pip_installs(found: list[Step]) -> list[str]:
    return [step.rest for step in found if step.word == "RUN" and "pip install" in step.rest]


@pytest.mark.parametrize("kind", KINDS)
def test_the_base_is_a_build_argument_and_its_default_a_digest(kind: str) -> None:
    first, *others = steps(kind)
    name, _, base = first.rest.partition("=")
    assert (first.word, name) == ("ARG", "BASE_IMAGE")
    assert DIGEST.match(base), f"{base} can become another image"
    bases = [step.rest.split()[0] for step in others if step.word == "FROM"]
    assert set(bases) == {"${BASE_IMAGE}"}


@pytest.mark.parametrize("kind", KINDS)
def test_it_runs_as_the_user_who_owns_the_shared_folders(kind: str) -> None:
    users = [step.rest for step in final_stage(kind) if step.word == "USER"]
    assert users == [f"{contract.JOB_UID}:{contract.JOB_UID}"]
    after = final_stage(kind)[-3:]
    assert "RUN" not in {step.word for step in after}, "something is done after root is given up"


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_comes_over_the_network_but_locked_packages(kind: str) -> None:
    found = steps(kind)
    assert not [step for step in found if step.word == "ADD"]
    assert not [
        step for step in found if re.search(r"\b(curl|wget|git clone|apt-get)\b", step.rest)
    ]
    for install in pip_installs(found):
        local = "--no-deps" in install and "--no-build-isolation" in install
        assert "--require-hashes" in install or local, install


@pytest.mark.parametrize("kind", KINDS)
def test_what_changes_seldom_comes_first(kind: str) -> None:
    """An edit of one layer keeps those before it."""
    marks = {
        "requirements.lock": "dependencies",
        "--from=package": "package",
        "training-image/*.py": "scripts",
    }
    order = [label for s in final_stage(kind) for mark, label in marks.items() if mark in s.rest]
    wanted = ["dependencies", "package", "scripts"]
    assert order == (wanted if kind == "training" else wanted[:2])


@pytest.mark.parametrize("kind", KINDS)
def test_the_package_is_built_where_nothing_is_kept(kind: str) -> None:
    from_elsewhere = [s.rest for s in final_stage(kind) if s.word == "COPY" and "--from" in s.rest]
    assert from_elsewhere == ["--from=package /package/ /"]
    kept = " ".join(step.rest for step in final_stage(kind))
    assert "build.lock" not in kept
    assert "pyproject.toml" not in kept


@pytest.mark.parametrize("kind", KINDS)
def test_pip_keeps_no_cache(kind: str) -> None:
    stages = [step.rest for step in steps(kind) if step.word == "ENV"]
    assert len(stages) == 2
    assert [stage for stage in stages if "PIP_NO_CACHE_DIR=1" not in stage] == []


@pytest.mark.parametrize("kind", KINDS)
def test_everything_that_is_copied_is_in_the_context(kind: str) -> None:
    ignore = (ROOT / f"{kind}-image" / "Dockerfile.dockerignore").read_text().splitlines()
    sent = [line[1:] for line in ignore if line.startswith("!")]
    copied = [
        source
        for step in steps(kind)
        if step.word == "COPY" and "--from" not in step.rest
        for source in step.rest.split()[:-1]
        if not source.startswith("--")
    ]
    copied += re.findall(r"source=([^, ]+)", " ".join(step.rest for step in steps(kind)))
    assert copied
    for source in copied:
        fits = [line for line in sent if line == source or line.startswith(f"{source}/")]
        assert fits, f"{source} is copied, but never sent"


def test_a_bare_run_of_the_training_image_prints_the_launchers_help() -> None:
    entry = {step.word: step.rest for step in final_stage("training")}
    assert entry["ENTRYPOINT"] == '["spotrain-run"]'
    assert entry["CMD"] == '["--help"]'


def test_scripts_can_be_read_whatever_the_umask_of_who_built_the_image() -> None:
    (copy,) = (s.rest for s in final_stage("training") if "training-image/*.py" in s.rest)
    assert "--chmod=644" in copy


def test_a_base_without_pytorch_is_refused_while_the_image_is_built() -> None:
    checks = [s.rest for s in final_stage("training") if s.word == "RUN" and "version" in s.rest]
    assert 'version("torch")' in checks[0]
    assert 'version("torchvision")' in checks[0]


def install_frameworks(folder: Path, frameworks: str, *, pip: str) -> tuple[int, list[str]]:
    """Run that step of the Dockerfile as a builder would: its exit code, and what pip was told."""
    (step,) = (s.rest for s in final_stage("training") if "$FRAMEWORKS" in s.rest)
    command = re.sub(r"--mount=\S+ ", "", step)
    told, python = folder / "told", folder / "python3"
    told.touch()
    python.write_text(f'#!/bin/sh\necho "$*" >> {told}\n{pip}\n')
    python.chmod(0o755)
    environment = {"PATH": f"{folder}:/usr/bin:/bin"}
    if frameworks:
        environment["FRAMEWORKS"] = frameworks
    done = subprocess.run(["/bin/sh", "-c", command], env=environment, check=False)
    return done.returncode, told.read_text().splitlines()


@pytest.mark.parametrize(
    ("frameworks", "locks"),
    [
        pytest.param("", [], id="none-by-default"),
        pytest.param("lightning", ["lightning"], id="one"),
        pytest.param("lightning transformers", ["lightning", "transformers"], id="both"),
    ],
)
def test_frameworks_are_installed_on_request(
    tmp_path: Path, frameworks: str, locks: list[str]
) -> None:
    code, told = install_frameworks(tmp_path, frameworks, pip="true")
    assert code == 0
    assert told == [f"-m pip install --require-hashes -r /locks/{name}.lock" for name in locks]


def test_a_framework_that_cannot_be_installed_ends_the_build(tmp_path: Path) -> None:
    code, told = install_frameworks(tmp_path, "lightning transformers", pip="exit 3")
    assert code != 0
    assert len(told) == 1


def test_every_framework_has_its_lock_where_the_build_looks_for_it() -> None:
    (step,) = (s.rest for s in final_stage("training") if "$FRAMEWORKS" in s.rest)
    mounts = dict(re.findall(r"source=([^, ]+),target=(\S+)", step))
    locks = sorted(path.stem for path in (ROOT / "training-image").glob("*.lock"))
    wanted = [name for name in locks if name != "requirements"]
    assert mounts == {f"training-image/{n}.lock": f"/locks/{n}.lock" for n in wanted}
    (argument,) = (s.rest for s in final_stage("training") if s.word == "ARG")
    assert argument == "FRAMEWORKS="  # none
