"""The types of a job's conditions, which are also the words for its state. They import nothing:
whoever only reads the words waits for no model of the status."""

from typing import Final

CREATED: Final = "Created"
RUNNING: Final = "Running"
RESTARTING: Final = "Restarting"
SUSPENDED: Final = "Suspended"
BUDGET_EXCEEDED: Final = "BudgetExceeded"
SUCCEEDED: Final = "Succeeded"
FAILED: Final = "Failed"
PENDING: Final = "Pending"
"""The state of a job none of whose conditions holds but Created."""
