"""A job whose spec cannot be used: it says so, and touches nothing that runs.

The API server refuses nearly all of these. What is left are slips inside the pod template, which
no schema of ours describes, and jobs older than a rule.
"""

from dataclasses import replace
from datetime import datetime
from typing import Final

from spotrain.controller.conditions import fails, set_conditions
from spotrain.controller.model import Event, JobStatus, Plan
from spotrain.controller.status import RUNNING
from spotrain.job import JobError

INVALID_SPEC: Final = "InvalidSpec"


def refuse(error: JobError, status: JobStatus, *, generation: int, now: datetime) -> Plan:
    """The plan for a job that does not parse. It is no end: mending the spec revives the job."""
    before = status.condition(RUNNING)
    if status.finished or (before and before.message == str(error)):
        return Plan(status)
    condition = fails(RUNNING, INVALID_SPEC, str(error))
    refused = replace(status, observed_generation=generation)
    return Plan(
        set_conditions(refused, condition, generation=generation, now=now),
        events=(Event("Warning", INVALID_SPEC, str(error)),),
    )
