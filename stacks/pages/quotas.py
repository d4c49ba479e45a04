"""The parts of docs/operations.md and docs/gcp.md that are made from the tables of quotas."""

from collections.abc import Callable

from spotrain import contract
from spotrain.quotas import aws, gcp
from stacks.pages.parts import with_parts
from stacks.preview import ROOT

GPUS_OF_SPOT = f"`{gcp.SPOT}NVIDIA_<GPU>_GPUS`"
DRAWN = (
    (
        f"{GPUS_OF_SPOT}, else `NVIDIA_<GPU>_GPUS` of the region",
        gcp.NEW[gcp.GPUS["t4"]],
        "GPUs of spot nodes; GPUs on demand on the second",
    ),
    (f"`{gcp.ALL_GPUS}`", gcp.NEW[gcp.ALL_GPUS], "every GPU"),
    (
        f"`{gcp.ALL_CPUS}`",
        gcp.NEW[gcp.ALL_CPUS],
        "every node, managers too; Google does not say that spot nodes are left out, so count them",
    ),
    (
        f"`{'`, else `'.join(gcp.VCPUS['e2'])}` of the region",
        gcp.NEW["CPUS"],
        "managers",
    ),
    (
        f"`{'`, else `'.join(gcp.names_of('CPUS', contract.CAPACITY_SPOT))}` of the region",
        f"{gcp.NEW['CPUS']} of the second",
        "N1 machines (T4) on spot; on demand on the second. Other families draw on a quota of "
        "their own (`G2_CPUS`) where the region lists one",
    ),
    (
        f"`{gcp.SSD}` of the region",
        gcp.NEW[gcp.SSD],
        "the root disks of all nodes, managers too: `managers.disk_gib` and each pool's "
        "`disk_gib`, a node; and the disk of Prometheus",
    ),
)
"""Quota, what a new project has, what draws on it."""


def on_aws() -> str:
    """docs/operations.md: a row for each quota that a stack may need."""
    rows = [f"| `{each.code}` | {each.name} | {each.new} |" for each in aws.KNOWN]
    head = "| code | quota, in vCPUs | in a new account |\n| --- | --- | ---: |"
    return "\n".join([head, *rows, ""])


def on_gcp() -> str:
    """docs/gcp.md: what draws on what."""
    rows = [f"| {' | '.join(row)} |" for row in DRAWN]
    head = "| quota | in a new project, as people report | what draws on it |\n| --- | --- | --- |"
    return "\n".join([head, *rows, ""])


def operations_page() -> str:
    return _page("docs/operations.md", on_aws)


def gcp_page() -> str:
    return _page("docs/gcp.md", on_gcp)


def _page(file: str, part: Callable[[], str]) -> str:
    return with_parts(file, (ROOT / file).read_text(), {"quotas": part})
