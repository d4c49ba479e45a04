"""docs/troubleshooting.md, made of the tables that the tests go through.

`python -m tests.explain.page` writes it.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from spotrain import contract
from spotrain.doctor import Verdict
from spotrain.doctor.account import check_account
from tests.doctor.answers import account, pool
from tests.doctor.test_account import ROWS as ACCOUNTS
from tests.explain.scene import NAMESPACE
from tests.explain.situations import ROWS

PAGE: Final = Path(__file__).parents[2] / "docs" / "troubleshooting.md"
HEAD: Final = """\
# Troubleshooting

Two commands look for the reason, so that nobody has to. This page is made of the tables that
their tests go through (`make config-reference`); what goes wrong on AWS beyond them is in
[operations.md](operations.md).

## One job: `spotrain explain NAME`
It reads the job, its pods, their events, nodes, quotas, pools and what the autoscaler says of
itself, and derives one paragraph and the next command. Several causes at once are all told, the
gravest first. What you may not read it leaves out, and says so. `-o json` has each cause with its
word, for scripts:

| gravity | means |
| --- | --- |
| `final` | the job has ended |
| `blocked` | stays so until somebody acts |
| `waiting` | may pass by itself |
| `coming` | passes by itself, as it should |
| `noted` | does not keep the job from training |

The job `digits` below was made at noon; it wants four workers of one T4 and trains with two.

| situation | cause | what it says | next |
| --- | --- | --- | --- |
"""
DOCTOR: Final = """
## The platform: `spotrain doctor`
Run it after `pulumi up`, and when nothing starts. Each check passes, warns, or fails with the
fix; the exit code is 1 when one fails. What you may not read or ask is a warning that names the
right. `--no-cloud` leaves the cloud account out.

In the cluster: who you are and whether you may create jobs; the clocks; the job definition and
whether it is as new as your `spotrain`; the controller; the archive; pools and the age of prices;
the autoscaler and its group of each pool and zone; the shared volume's claim; the GPU plugin.
`spotrain doctor --local` looks at Python, PyTorch, disk, memory and ports of this machine.

On Google Cloud the project is asked for its quotas of GPUs, vCPUs and disks, for machine types, for
the notice of each node pool, and for the images. In an AWS account, with the credentials of your
profile, for a pool of at most 64 vCPUs in two
zones:

| situation | check | verdict | what it says | next |
| --- | --- | --- | --- | --- |
"""


def page() -> str:
    jobs = "\n".join(_explanations())
    accounts = "\n".join(_findings())
    return f"{HEAD}{jobs}\n{DOCTOR}{accounts}\n"


def _explanations() -> Iterator[str]:
    for row in ROWS:
        found = row.scene().explanation()
        causes = ", ".join(f"`{cause.reason}`" for cause in found.causes)
        command = _here(found.next_command)
        yield f"| {row.name} | {causes} | {_cell(found.paragraph)} | `{command}` |"


def _findings() -> Iterator[str]:
    for name, (changed, _, _) in ACCOUNTS.items():
        for found in check_account(account(**changed), [pool()]):
            if found.verdict is not Verdict.passed:
                said, fix = _cell(found.said), _cell(found.fix)
                yield f"| {name} | {found.check} | {found.verdict} | {said} | {fix} |"


def _here(text: str) -> str:
    """With the namespace that a stack makes unless it is told otherwise."""
    return text.replace(f"-n {NAMESPACE}", f"-n {contract.JOB_NAMESPACE}")


def _cell(text: str) -> str:
    escaped = text.replace("|", "\\\\|").replace("<", "&lt;")
    return _here(escaped).replace(f"namespace {NAMESPACE}", f"namespace {contract.JOB_NAMESPACE}")


if __name__ == "__main__":
    PAGE.write_text(page())
