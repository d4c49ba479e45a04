"""Spot instances taken back on request: by AWS's Fault Injection Service, as EC2 does it.

EC2 recommends a rebalancing, gives two minutes' notice, and takes the instance.
https://docs.aws.amazon.com/fis/latest/userguide/fis-actions-reference.html
"""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Final

import boto3  # type: ignore[import-untyped]
from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-untyped]

from spotrain.clouds.answers import NotInterrupted
from spotrain.clouds.aws import LOG_IN, LOGGED_OUT, PATIENCE, line
from spotrain.clouds.zones import aws_region

SERVICE: Final = "AWS Fault Injection Service"
ACTION: Final = "aws:ec2:send-spot-instance-interruptions"
ACTION_NAME: Final = "interrupt"
NOTICE: Final = "PT2M"
"""The least that the action takes, and what EC2 gives."""
START_SECONDS: Final = 120.0
"""An experiment that has not begun by then has found something in its way."""
LOOKS: Final = (0.5, 8.0)
"""Seconds between the first two looks at it, and the most: each wait is twice the one before."""
BEGUN: Final = ("running", "completed")
OVER: Final = ("failed", "stopped", "stopping", "cancelled", "skipped")
HINT: Final = (
    "Its role interrupts nodes of spot pools of its own stack only: compare --role with pulumi "
    "stack output drillRole."
)


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
                where = f"{ec2.meta.partition}:ec2:{instance.region}:{owner}"
                return f"arn:{where}:instance/{instance.id}"
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
            ACTION_NAME: {
                "actionId": ACTION,
                "parameters": {"durationBeforeInterruption": NOTICE},
                "targets": {"SpotInstances": "worker"},
            }
        },
        "tags": {"Name": "spotrain-drill"},
    }


@dataclass
class Experiment:
    """One that was started: whether it still does what it was started for."""

    fis: Any
    id: str
    sleep: Callable[[float], None]
    _asked_at: float = 0.0

    def await_begin(self) -> None:
        """Until EC2 has taken the request, which alone shows that the role may make it."""
        seconds, waited = LOOKS[0], 0.0
        while self._state() not in BEGUN:
            if waited >= START_SECONDS:
                raise NotInterrupted(f"the experiment {self.id} has not begun. {HINT}")
            self.sleep(seconds)
            waited += seconds
            seconds = min(2 * seconds, LOOKS[1])

    def check(self) -> None:
        """Asks AWS, unless it was asked a moment ago. Raises NotInterrupted where it has failed."""
        now = time.monotonic()
        if now - self._asked_at >= LOOKS[1]:
            self._asked_at = now
            self._state()

    def _state(self) -> str:
        """Of its one action: the experiment runs before that has done anything."""
        with _told(SERVICE):
            told = self.fis.get_experiment(id=self.id)["experiment"]
        action = told.get("actions", {}).get(ACTION_NAME, {}).get("state", {})
        for state in (told["state"], action):
            if state.get("status") in OVER:
                raise NotInterrupted(
                    f"the experiment {self.id} is {state['status']}: "
                    f"{state.get('reason') or 'AWS says no reason'}. {HINT}"
                )
        return str(action.get("status", ""))


@contextmanager
def interrupted(
    fis: Any,
    arn: str,
    role: str,
    *,
    say: Callable[[str], None],
    undisturbed: Callable[[], AbstractContextManager[None]] = nullcontext,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[Experiment]:
    """Enters when AWS has begun to interrupt the instance.

    On leaving, the experiment's template is removed; if it is left by an exception, the experiment
    is stopped too, which holds back what has not been sent yet.

    Args:
        say: hears what is left in the account, and how it is removed.
        undisturbed: a context in which no signal cuts off what is to be undone.

    Raises:
        NotInterrupted: nobody is logged in, a right is missing, or the experiment failed.
    """
    with _told(SERVICE):
        made = fis.create_experiment_template(**template(arn, role))["experimentTemplate"]["id"]
    started = ""
    try:
        with _told(SERVICE):
            started = fis.start_experiment(experimentTemplateId=made)["experiment"]["id"]
        experiment = Experiment(fis, started, sleep)
        experiment.await_begin()
        yield experiment
    except BaseException:
        if started:
            with undisturbed():
                _stop(fis, started, say)
        raise
    finally:
        with (
            undisturbed(),
            _left(f"its template {made}", f"delete-experiment-template {made}", say),
        ):
            fis.delete_experiment_template(id=made)


def _stop(fis: Any, experiment: str, say: Callable[[str], None]) -> None:
    with _left(f"the experiment {experiment}", f"stop-experiment {experiment}", say):
        try:
            fis.stop_experiment(id=experiment)
        except (fis.exceptions.ValidationException, fis.exceptions.ResourceNotFoundException):
            return  # it has ended by itself
        say(f"stopped the experiment {experiment}; a notice that EC2 has sent already stays.")


@contextmanager
def _left(what: str, command: str, say: Callable[[str], None]) -> Iterator[None]:
    """Says what could not be undone, so that the fault before it is not hidden by this one."""
    verb, _, id = command.partition(" ")
    try:
        yield
    except (ClientError, BotoCoreError) as error:
        say(f"{what} is left in AWS: {line(error)} Next: aws fis {verb} --id {id}")


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
