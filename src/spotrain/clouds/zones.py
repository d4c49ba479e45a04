"""Which region a zone is of, and so which cloud: each writes its zones in its own way. Pure."""

import re
from typing import Final

_AWS: Final = re.compile(r"([a-z]{2}(?:-[a-z]+)+-\d+)(?:[a-z]|-[a-z]{3}-\d+[a-z])")
"""us-east-1a; local zones too: us-west-2-lax-1a."""
_GCP: Final = re.compile(r"([a-z]+-[a-z]+\d+)-[a-z]")
"""us-central1-a."""


def aws_region(zone: str) -> str | None:
    """None: the zone is of another cloud, or of none."""
    found = _AWS.fullmatch(zone)
    return found[1] if found else None


def gcp_region(zone: str) -> str | None:
    """None: the zone is of another cloud, or of none."""
    found = _GCP.fullmatch(zone)
    return found[1] if found else None
