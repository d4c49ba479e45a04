"""Spot instances taken back on request: by AWS's Fault Injection Service, as EC2 does it.

EC2 recommends a rebalancing, gives two minutes' notice, and takes the instance.
https://docs.aws.amazon.com/fis/latest/userguide/fis-actions-reference.html
"""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final

import boto3  # type: ignore[import-untyped]
from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-untyped]

from spotrain.clouds.aws import LOG_IN, LOGGED_OUT, PATIENCE, line
from spotrain.clouds.zones import aws_region

ACTION: Final = "aws:ec2:send-spot-instance-interruptions"
NOTICE: Final = "PT2M"
"""The least that the action takes, and what EC2 gives."""
START_SECONDS: Final = 120.0
"""An experiment that has not begun by then has found something in its way."""
LOOKS: Final = (0.5, 8.0)
"""Seconds between the first two looks at it, and the most: each wait is twice the one before."""
BEGUN: Final = ("running", "completed")
OVER: Final = ("failed", "stopped", "stopping", "cancelled")


class NotInterrupted(Exception):
    """One line for a person: what, why, and what to do."""


@dataclass(frozen=True)
class Instance:
    """An EC2 instance, as its node names it."""

    id: str
    region: str


def instance_of(provider_id: str) -> Instance:
    """By a node's `spec.providerID`, such as aws:///us-east-1a/i-0123456789abcdef0."""
    found = re.fullmatch(r"aws:///([a-z0-9-]+)/(i-[0-9a-f]{8,17})", provider_id)
    region = aws_region(found[1]) if found else None
    if found is None or region is None:
        raise NotInterrupted(
            f"the node's provider ID is {provider_id!r}, which names no instance of EC2: AWS can "
            "interrupt its own nodes only. Drill without --real."
        )
    return Instance(found[2], region)


def connect(service: str, region: str) -> Any:
    """A client of "ec2" or "fis", with the identity of whoever is logged in."""
    with _told("AWS"):
        return boto3.Session().client(service, region_name=region, config=PATIENCE)


def find_spot(ec2: Any, instance: Instance) -> str:
    """The instance's ARN. Raises NotInterrupted: it does not run, or is not spot."""
    with _told("EC2"):
        told = ec2.describe_instances(InstanceIds=[instance.id])
    for reservation in told["Reservations"]:
        for seen in reservation["Instances"]:
            if seen.get("InstanceLifecycle") != "spot":
                raise NotInterrupted(
                    f"{instance.id} is no spot instance: nobody takes it back, and AWS interrupts "
                    "spot instances only. Choose a worker on spot by --worker."
                )
            if seen["State"]["Name"] == "running":
                owner = reservation["OwnerId"]
                return f"arn:aws:ec2:{instance.region}:{owner}:instance/{instance.id}"
    raise NotInterrupted(f"{instance.id} does not run any more. Next: kubectl get nodes.")


def template(arn: str, role: str) -> dict[str, Any]:
    """The experiment: this instance, and no other."""
    instance = arn.rpartition("/")[2]
    return {
        "description": f"spotrain drill: interrupt {instance}",
        "roleArn": role,
        "stopConditions": [{"source": "none"}],
        "targets": {
            "worker": {
                "resourceType": "aws:ec2:spot-instance",
                "resourceArns": [arn],
                "selectionMode": "ALL",
            }
        },
        "actions": {
            "interrupt": {
                "actionId": ACTION,
                "parameters": {"durationBeforeInterruption": NOTICE},
                "targets": {"SpotInstances": "worker"},
            }
        },
        "tags": {"Name": "spotrain-drill"},
    }


@contextmanager
def interrupted(
    fis: Any, arn: str, role: str, *, sleep: Callable[[float], None] = time.sleep
) -> Iterator[None]:
    """Enters when AWS has begun to interrupt the instance.

    On leaving, the experiment's template is removed; if it is left by an exception, the experiment
    is stopped too, which holds back what has not been sent yet.

    Raises:
        NotInterrupted: nobody is logged in, a right is missing, or the experiment failed.
    """
    with _told("AWS Fault Injection Service"):
        made = fis.create_experiment_template(**template(arn, role))["experimentTemplate"]["id"]
    experiment = ""
    try:
        with _told("AWS Fault Injection Service"):
            experiment = fis.start_experiment(experimentTemplateId=made)["experiment"]["id"]
            _await_begin(fis, experiment, sleep)
        yield
    except BaseException:
        if experiment:
            with suppress(ClientError, BotoCoreError):
                fis.stop_experiment(id=experiment)
        raise
    finally:
        with suppress(ClientError, BotoCoreError):
            fis.delete_experiment_template(id=made)


def _await_begin(fis: Any, experiment: str, sleep: Callable[[float], None]) -> None:
    seconds, waited = LOOKS[0], 0.0
    while True:
        state = fis.get_experiment(id=experiment)["experiment"]["state"]
        if state["status"] in BEGUN:
            return
        if state["status"] in OVER or waited >= START_SECONDS:
            raise NotInterrupted(
                f"the experiment {experiment} is {state['status']}: "
                f"{state.get('reason') or 'AWS says no reason'}. Its role interrupts nodes of spot "
                "pools of its own stack only: compare --role with pulumi stack output drillRole."
            )
        sleep(seconds)
        waited += seconds
        seconds = min(2 * seconds, LOOKS[1])


_STEPS: Final = {
    **dict.fromkeys(("AccessDeniedException", "UnauthorizedOperation"), "ask for that right"),
    **dict.fromkeys(("AuthFailure", "ExpiredToken", "ExpiredTokenException"), LOG_IN),
    "UnrecognizedClientException": LOG_IN,
    "ServiceQuotaExceededException": "wait for running experiments, or have the quota raised",
    "InvalidInstanceID.NotFound": "log in to the account in which the cluster is",
}


@contextmanager
def _told(service: str) -> Iterator[None]:
    try:
        yield
    except ClientError as error:
        code = error.response.get("Error", {}).get("Code", "")
        step = _STEPS.get(code, "see the message, and docs/operations.md on drills")
        raise NotInterrupted(f"{service} refuses: {line(error)} Next: {step}.") from error
    except LOGGED_OUT as error:
        raise NotInterrupted(f"nobody is logged in to AWS: {line(error)}. {LOG_IN}.") from error
    except BotoCoreError as error:
        raise NotInterrupted(f"{service} was not reached: {line(error)}") from error
