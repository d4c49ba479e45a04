"""The AWS Terraform provider accepts what every AWS stack asks for: schema, validate and plan.

awscheck hands it the program's inputs; it needs terraform and the provider, but no account.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from stacks.pages.stacks import QUARRY, config_of
from stacks.preview import ROOT
from tests.stack.aws.conftest import AWS_STACKS

AWSCHECK = Path(os.environ.get("AWSCHECK", ROOT.parent / "shared/tools/awscheck/awscheck"))
EXCEPTIONS = Path(__file__).with_name("provider_exceptions.txt")
"""What the provider's version does not know yet, each with its reason."""


@pytest.mark.provider
@pytest.mark.timeout(1800)  # against hanging only: minutes on a busy machine
@pytest.mark.skipif(not AWSCHECK.exists(), reason=f"no awscheck at {AWSCHECK}; AWSCHECK names it")
@pytest.mark.parametrize("stack", [*AWS_STACKS, QUARRY.stem])
def test_the_aws_provider_finds_no_problem(stack: str, tmp_path: Path) -> None:
    file = tmp_path / f"Pulumi.{stack}.yaml"
    settings = {f"spotrain:{key}": value for key, value in config_of(stack).items()}
    file.write_text(yaml.safe_dump({"config": settings}))
    command = [sys.executable, str(AWSCHECK), "--python", sys.executable, str(file)]
    if EXCEPTIONS.exists():
        command += ["--exceptions", str(EXCEPTIONS)]
    judged = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert judged.returncode == 0, judged.stdout + judged.stderr
    assert "0 errors" in judged.stdout
    assert "policy documents, 0 findings" in judged.stdout
