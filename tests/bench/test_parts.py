"""`make bench` knows every benchmark by name, and says what it cannot run."""

from importlib.util import find_spec
from pathlib import Path

import pytest

import bench.__main__ as umbrella
from bench.parts import PARTS, Part, UnknownPart, chosen
from bench.tools import environment_for


def test_without_names_all_run() -> None:
    assert chosen([]) == list(PARTS)


def test_a_part_runs_once_however_it_is_called() -> None:
    assert [part.name for part in chosen(["growth", "notice", "loss"])] == ["loss", "planned"]


def test_an_unknown_name_is_told_with_those_that_there_are() -> None:
    with pytest.raises(UnknownPart, match="'lost' is no benchmark; there are"):
        chosen(["loss", "lost"])


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_what_a_part_names_is_there(part: Part) -> None:
    spec = find_spec(part.module)
    assert spec is not None
    if spec.submodule_search_locations is not None:
        assert find_spec(f"{part.module}.__main__") is not None
    assert not part.peers or Path(part.peers).is_file()


def test_a_part_that_lacks_something_is_skipped_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    part = Part(name="x", about="x", module="no.such", minutes=1, needs_cluster=True)
    assert environment_for(part)[1].startswith("needs etcd and kube-apiserver")
    assert umbrella.run(part, []).startswith("skipped: needs etcd")


def test_a_part_that_fails_is_told_and_does_not_end_the_others(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    bad = Part(name="bad", about="fails", module="no.such.module", minutes=1)
    good = Part(name="good", about="works", module="this", minutes=1)
    monkeypatch.setattr(umbrella, "chosen", lambda names: [bad, good])
    assert umbrella.main([]) == 1
    told = capfd.readouterr().out
    assert "bad          FAILED with code 1" in told
    assert "good         done" in told


def test_options_go_to_one_part_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert umbrella.main(["--", "--rounds", "1"]) == 2
    assert "name it" in capsys.readouterr().err
