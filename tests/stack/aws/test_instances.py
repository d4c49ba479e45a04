"""The catalog of GPU instance types, and what pods get of one."""

from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stacks.aws.allocatable import Allocatable, Size, allocatable, gib, smallest, usable_storage_gib
from stacks.aws.instances import gpu_catalog
from stacks.aws.services import service_catalog

SIZES = st.builds(
    Size,
    vcpu=st.integers(2, 192),
    memory_gib=st.integers(16, 2048),
    max_pods=st.integers(29, 110),
)


def test_a_gpu_model_means_one_size_of_memory() -> None:
    """A job asks for a model, and must fit wherever it finds one."""
    sizes = defaultdict(set)
    for instance in gpu_catalog().types.values():
        sizes[instance.gpu].add(instance.gpu_memory_gib)
    assert {gpu: memory for gpu, memory in sizes.items() if len(memory) > 1} == {}


@pytest.mark.parametrize(
    ("name", "adapters", "local_disk_gb"),
    [
        ("g4dn.xlarge", 0, 125),
        ("g5.48xlarge", 1, 7600),
        ("g6e.48xlarge", 4, 7600),
        ("p4d.24xlarge", 4, 8000),
        ("p5.48xlarge", 32, 30400),
        ("p6-b200.48xlarge", 8, 30400),
    ],
)
def test_adapters_and_disks_are_what_ec2_says(name: str, adapters: int, local_disk_gb: int) -> None:
    instance = gpu_catalog().types[name]
    assert (instance.efa_interfaces, instance.local_disk_gb) == (adapters, local_disk_gb)


def test_small_instances_have_no_adapter() -> None:
    with_efa = [i for i in gpu_catalog().types.values() if i.efa_interfaces]
    assert min(i.vcpu for i in with_efa) == 32


@pytest.mark.parametrize(
    ("name", "cpu_millis", "memory_mib"),
    [
        ("g4dn.xlarge", 3920, 14481),
        ("g4dn.12xlarge", 47810, 178933),
        ("g5.2xlarge", 7910, 29317),
        ("g6.16xlarge", 63770, 234021),
        ("p4d.24xlarge", 95690, 1082712),
        ("p5.48xlarge", 191450, 1938410),
    ],
)
def test_pods_get_of_an_instance_what_karpenters_reference_says(
    name: str, cpu_millis: int, memory_mib: int
) -> None:
    """Its tables are made from the same formulas and from EC2's own answers."""
    instance = gpu_catalog().types[name]
    size = Size(vcpu=instance.vcpu, memory_gib=instance.memory_gib, max_pods=instance.max_pods)
    assert allocatable(size) == Allocatable(
        cpu_millis=cpu_millis, memory_mib=memory_mib, pods=instance.max_pods
    )


@given(SIZES)
def test_pods_never_get_more_than_there_is(size: Size) -> None:
    node = allocatable(size)
    assert 0 < node.cpu_millis < size.vcpu * 1000
    assert 0 < node.memory_mib < size.memory_gib * 1024


@given(st.lists(SIZES, min_size=1, max_size=5))
def test_what_every_type_has_fits_on_each_of_them(sizes: list[Size]) -> None:
    least = smallest(sizes)
    for size in sizes:
        node = allocatable(size)
        assert least.cpu_millis <= node.cpu_millis
        assert least.memory_mib <= node.memory_mib
        assert least.pods <= node.pods


def test_a_tenth_of_a_disk_is_never_for_pods() -> None:
    assert usable_storage_gib(100) == 88
    assert usable_storage_gib(gib(125)) == 102
    assert usable_storage_gib(gib(8000)) == 6630


def test_managers_have_a_shape_and_a_price() -> None:
    for manager in service_catalog().managers.values():
        assert manager.memory_gib == 4 * manager.vcpu
        assert manager.max_pods >= 29
