"""What goes wrong by no fault of this program, and the exit codes of `spotrain`."""

from typing import Final

OK: Final = 0
JOB_FAILED: Final = 1
"""The job, or the drill, failed."""
USAGE: Final = 2
"""What was asked for cannot be done: a wrong option, file or number."""
NO_CLUSTER: Final = 3
"""The cluster was not reached, or does not let this person do it."""
NOT_FOUND: Final = 4
"""The job, or what was asked for of it: a worker, a world, a folder."""
CONFLICT: Final = 5
"""The name is taken, or the object is not in a state that allows it."""
INTERRUPTED: Final = 130
"""By Ctrl-C (128 + SIGINT)."""


class UserError(Exception):
    """Shown as one line on stderr, without a traceback: value, rule, reason, next step."""

    def __init__(self, message: str, *, exit_code: int = USAGE) -> None:
        super().__init__(message)
        self.message = message
        self.exit_code = exit_code
