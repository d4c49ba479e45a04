"""Whoever adds a type, a region or a price wrongly is told what belongs there."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from stacks.aws import instances, services
from stacks.problems import Problem, SettingsError
from stacks.tables import read_table

Change = Callable[[Any], object]
READERS: dict[Path, Callable[[Path], object]] = {
    instances.FILE: instances.read_catalog,
    services.FILE: lambda path: read_table(path, services.ServiceCatalog),
}


def refused(tmp_path: Path, file: Path, change: Change) -> dict[str, Problem]:
    """What is said of the checked-in table after a change."""
    document = yaml.safe_load(file.read_text())
    change(document)
    copy = tmp_path / file.name
    copy.write_text(yaml.safe_dump(document))
    with pytest.raises(SettingsError) as error:
        READERS[file](copy)
    assert file.name in str(error.value)
    return {problem.path: problem for problem in error.value.problems}


TYPE = "vcpu, memory_gib, gpus, efa, local_disk_gb, max_pods, usd_per_hour"
GPUS = [
    (lambda d: d["types"]["g5.xlarge"].pop("usd_per_hour"), "types.g5.xlarge", TYPE),
    (lambda d: d["types"].update({"g5.x": {"vcpu": 4}}), "types.g5.x", "gpus is missing"),
    (lambda d: d["types"].update({"g5.x": 4}), "types.g5.x", TYPE),
    (lambda d: d["types"].update({"g5.x": None}), "types.g5.x", TYPE),
    (lambda d: d["types"]["g5.xlarge"].update(price=1), "types.g5.xlarge", "price is not known"),
    (lambda d: d["types"]["g5.xlarge"].update(vcpu=0), "types.g5.xlarge", "vcpu is 0, must be"),
    (
        lambda d: d["types"].update({"g9.xlarge": d["types"]["g5.xlarge"]}),
        "types.g9.xlarge",
        "a family g9 below `families`, with gpu, gpu_memory_gib, typical_spot_share",
    ),
    (lambda d: d["families"]["g5"].pop("gpu"), "families.g5", "gpu is missing"),
    (lambda d: d["regions"].update(mars="near"), "regions.mars", "is near, must be a valid number"),
    (lambda d: d.pop("as_of"), "as_of", "is missing"),
]
SERVICES = [
    (
        lambda d: d["managers"]["m7i.large"].pop("max_pods"),
        "managers.m7i.large",
        "vcpu, memory_gib, max_pods, usd_per_hour",
    ),
    (lambda d: d["usd_per_gb"].pop("s3_month"), "usd_per_gb", "s3_month is missing"),
    (lambda d: d["usd_per_hour"].update(nat_gateway=-1), "usd_per_hour", "nat_gateway is -1"),
]


@pytest.mark.parametrize(("change", "path", "says"), GPUS)
def test_a_broken_entry_of_gpus_is_told_with_what_it_needs(
    tmp_path: Path, change: Change, path: str, says: str
) -> None:
    found = refused(tmp_path, instances.FILE, change)
    assert says in str(found[path])
    assert len(found) == 1


@pytest.mark.parametrize(("change", "path", "says"), SERVICES)
def test_a_broken_entry_of_services_is_told_with_what_it_needs(
    tmp_path: Path, change: Change, path: str, says: str
) -> None:
    found = refused(tmp_path, services.FILE, change)
    assert says in str(found[path])
    assert len(found) == 1


def test_every_broken_entry_is_told_at_once(tmp_path: Path) -> None:
    def change(document: Any) -> None:
        document["types"]["g5.xlarge"] = {}
        document["types"]["g4dn.xlarge"] = {}
        document["regions"]["mars"] = -1

    assert len(refused(tmp_path, instances.FILE, change)) == 3
