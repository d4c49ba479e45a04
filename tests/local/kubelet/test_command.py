"""`python -m spotrain.local.kubelet`: what it makes of its options."""

from pathlib import Path

import pytest

from spotrain import contract
from spotrain.local.kubelet.__main__ import build_options, build_specs, main, parse


def test_nodes_of_a_pool_are_labelled_and_tainted_as_its_jobs_expect() -> None:
    words = "--nodes 2 --name n --pool t4-spot --zone us-east-1a --gpu t4 --gpus 4"
    specs = build_specs(parse(words.split()))
    assert [spec.name for spec in specs] == ["n-0", "n-1"]
    assert specs[0].labels == {
        contract.LABEL_ROLE: contract.ROLE_WORKER,
        contract.LABEL_POOL: "t4-spot",
        contract.LABEL_ZONE: "us-east-1a",
        contract.LABEL_GPU: "t4",
    }
    assert specs[0].capacity == {contract.GPU_RESOURCE: "4"}
    assert [taint["key"] for taint in specs[0].taints] == [contract.GPU_TAINT_KEY]


def test_a_node_without_gpus_has_no_taint() -> None:
    (spec,) = build_specs(parse([]))
    assert (spec.taints, spec.capacity) == ([], {})
    assert spec.labels[contract.LABEL_GPU] == contract.NO_GPU


def test_claims_and_hosts_are_pairs(tmp_path: Path) -> None:
    words = ["--image", str(tmp_path), "--claim", f"efs={tmp_path}", "--host", "a.svc=1.1.1.1,::1"]
    options = build_options(parse(words))
    assert options.claims == {"efs": tmp_path}
    assert options.hosts == {"a.svc": ["1.1.1.1", "::1"]}


@pytest.mark.parametrize("words", [["--claim", "efs"], ["--claim", "efs=/no/such/folder"]])
def test_what_cannot_be_used_is_said_in_one_line(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--image", str(tmp_path), *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "efs" in line or "/no/such/folder" in line
