"""The stack files of AWS, and a cluster to put single components on."""

from collections.abc import Callable

import pulumi
import pulumi_kubernetes as k8s
import pytest

from components.aws.reference import ClusterReference
from stacks.aws.schema import AwsSettings
from stacks.schema import parse
from stacks.stack_file import read_config, stack_names

AWS_STACKS = [name for name in stack_names() if read_config(name)["settings"]["cloud"] == "aws"]


@pytest.fixture(params=AWS_STACKS)
def stack(request: pytest.FixtureRequest) -> str:
    """Every stack file of AWS in turn."""
    name: str = request.param
    return name


@pytest.fixture
def settings(stack: str) -> AwsSettings:
    parsed = parse(read_config(stack)["settings"], source=stack)
    assert isinstance(parsed, AwsSettings)
    return parsed


@pytest.fixture
def cluster() -> Callable[[], ClusterReference]:
    """Makes a cluster; to be called inside the program that is built."""

    def make() -> ClusterReference:
        return ClusterReference(
            name=pulumi.Output.from_input("mine"),
            arn=pulumi.Output.from_input("arn:aws:eks:us-east-1:123456789012:cluster/mine"),
            region="us-east-1",
            version="1.36",
            kubernetes=k8s.Provider("kube"),
        )

    return make
