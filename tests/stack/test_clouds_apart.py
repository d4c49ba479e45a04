"""What runs jobs knows no cloud, and no cloud needs another one's packages."""

import re
import subprocess
import sys

import pytest

from spotrain import contract
from stacks import schema
from stacks.clouds import MODULES, SCHEMAS, settings_class, support
from stacks.pages.stacks import config_of
from stacks.preview import ROOT
from stacks.problems import SettingsError

CLOUD_BLIND = (
    "components/platform",
    "src/spotrain/agent",
    "src/spotrain/controller",
    "src/spotrain/train",
    "src/spotrain/worlds",
)
NAMES = re.compile(
    r"\b(aks|amazon|aws|azure|ec2|ecr|efs|eks|gce|gcp|gke|google)\b|\.amazonaws\.|googleapis"
)
OF_A_CLOUD = {
    "aws": {"pulumi_aws", "pulumi_eks"},
    "gcp": {"pulumi_gcp"},
}
"""Cloud -> packages that only its stacks need."""
BLOCKED = """\
import sys
from importlib.abc import MetaPathFinder

class Refuse(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED or name.startswith(FOLDERS):
            raise ModuleNotFoundError(f"{name} is of another cloud", name=name)

BLOCKED, FOLDERS = set(sys.argv[2].split(",")), tuple(sys.argv[3].split(","))
sys.meta_path.insert(0, Refuse())
from stacks.preview import ROOT, run_program
from stacks.stack_file import read_config
print(len(run_program(ROOT / "__main__.py", sys.argv[1], read_config(sys.argv[1])).resources))
"""


@pytest.mark.parametrize("folder", CLOUD_BLIND)
def test_no_cloud_is_named_where_jobs_are_run(folder: str) -> None:
    files = sorted((ROOT / folder).rglob("*.py"))
    assert files
    for file in files:
        # The shared volume is mounted where old jobs look for it.
        text = file.read_text().lower().replace(contract.VOLUME_MOUNT, "")
        assert NAMES.findall(text) == [], file.relative_to(ROOT)


@pytest.mark.parametrize(("stack", "cloud"), [("gcp", "gcp"), ("dev", "aws"), ("kind", "existing")])
def test_a_stack_is_built_without_the_packages_of_other_clouds(stack: str, cloud: str) -> None:
    others = [other for other in MODULES if other != cloud]
    packages = {"boto3", "botocore"}.union(*(OF_A_CLOUD.get(other, ()) for other in others))
    folders = [f"components.{other}" for other in others]
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED, stack, ",".join(packages), ",".join(folders)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) > 50


def test_every_cloud_has_the_settings_that_its_support_names() -> None:
    assert SCHEMAS.keys() == MODULES.keys()
    for cloud in MODULES:
        assert support(cloud).settings is settings_class(cloud)


@pytest.mark.parametrize(
    ("stack", "path", "setting", "of"),
    [
        ("gcp", "pools[0].instance_types", ["g5.xlarge"], "aws"),
        ("gcp", "account", "111122223333", "aws"),
        ("gcp", "storage.throughput", "elastic", "aws"),
        ("dev", "project", "my-project", "gcp"),
        ("dev", "pools[0].machine_type", "g2-standard-4", "gcp"),
        ("kind", "region", "us-central1", "aws and gcp"),
    ],
)
def test_a_setting_of_another_cloud_is_refused_by_that_clouds_name(
    stack: str, path: str, setting: object, of: str
) -> None:
    settings = config_of(stack)["settings"]
    section, _, name = path.rpartition(".")
    place = settings
    if section:
        key, _, index = section.partition("[")
        place = settings[key][int(index.rstrip("]"))] if index else settings[key]
    place[name] = setting
    with pytest.raises(SettingsError) as raised:
        schema.parse(settings, source=stack)
    (problem,) = raised.value.problems
    assert problem.path == path
    assert problem.rule == f"a setting of cloud: {of}, and of no other"


@pytest.mark.parametrize(
    ("stack", "name", "value"),
    [("gcp", "region", "us-east-1"), ("dev", "region", "us-central1")],
)
def test_a_region_of_another_cloud_is_refused(stack: str, name: str, value: str) -> None:
    settings = {**config_of(stack)["settings"], name: value}
    with pytest.raises(SettingsError) as raised:
        schema.parse(settings, source=stack)
    assert name in {problem.path for problem in raised.value.problems}
