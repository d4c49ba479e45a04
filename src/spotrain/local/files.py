"""Files that others read while they are written."""

import os
from pathlib import Path


def replace_file(path: Path, text: str) -> None:
    """Write beside and rename: a reader sees the old file or the new one."""
    partial = path.with_suffix(".partial")
    partial.write_text(text)
    os.replace(partial, path)
