"""What Pulumi itself is told."""

import yaml

from stacks.preview import ROOT

PROJECT = yaml.safe_load((ROOT / "Pulumi.yaml").read_text())


def test_every_up_looks_at_the_cloud_first() -> None:
    """Else a changed limit of a pool would set its nodes to the number of the last update."""
    assert PROJECT["options"]["refresh"] == "always"


def test_stack_files_are_where_the_preview_reads_them() -> None:
    assert PROJECT["stackConfigDir"] == "stacks"
