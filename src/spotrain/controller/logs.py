"""The log: one JSON object a line on standard error, so that what concerns one job is found by it.

Fields: time, level, logger, message; job and pod (as namespace/name and name) where it is about
one; error with the traceback where there is one. Whatever looks like a token or a private key is
masked, whoever wrote it.
"""

import json
import logging
import re
from datetime import UTC, datetime
from typing import Final

MASK: Final = "***"
_SECRETS: Final = re.compile(
    r"eyJ[\w-]{5,}(?:\.[\w-]*){1,2}"  # a signed web token, or what is left of one
    r"|(?<=Bearer )\S+"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    re.DOTALL,
)
TALKATIVE: Final = ("httpx2", "websockets")
"""Libraries that log each request and each connection."""


class JsonLines(logging.Formatter):
    """`extra={"job": key, "pod": name}` of a log call become fields."""

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC)
        line = {
            "time": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": mask(record.getMessage()),
        }
        if job := getattr(record, "job", ""):
            line["job"] = "/".join(str(job).split("/")[:2])  # without the uid of its key
        if pod := getattr(record, "pod", ""):
            line["pod"] = str(pod)
        if record.exc_info:
            line["error"] = mask(self.formatException(record.exc_info))
        return json.dumps(line, ensure_ascii=False)


def mask(text: str) -> str:
    return _SECRETS.sub(MASK, text)


def begin(level: str) -> None:
    """Log this process's lines of `level` and above."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=level, handlers=[handler], force=True)
    logging.captureWarnings(True)
    for name in TALKATIVE:
        logging.getLogger(name).setLevel(logging.WARNING)
