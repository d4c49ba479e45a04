"""Event files as a training script leaves them, and what a TensorBoard shows of them."""

import json
import re
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter


def write_curve(folder: Path, tag: str, values: Mapping[int, float]) -> None:
    """Another event file in the folder: step -> value."""
    writer = EventFileWriter(str(folder))
    for step, value in values.items():
        summary = Summary(value=[Summary.Value(tag=tag, simple_value=value)])
        writer.add_event(Event(wall_time=1.7e9 + step, step=step, summary=summary))
    writer.close()


def address_in(text: str) -> str:
    found = re.search(r"http://127\.0\.0\.1:\d+/", text)
    assert found, text
    return found[0]


def curves(address: str) -> dict[str, Any]:
    """Run -> its tags."""
    with urllib.request.urlopen(f"{address}data/plugin/scalars/tags", timeout=60) as answer:
        found: dict[str, Any] = json.load(answer)
    return found
