"""A file that grows piece by piece, and outlives a full disk."""

from pathlib import Path


def write_from(path: Path, begin: int, data: bytes) -> None:
    """The file's first `begin` bytes stay, and `data` follows them.

    What an attempt that failed has left behind them goes: nothing waits in a buffer, so that all
    before `begin` is in the file once it was written without an error.

    Raises OSError; then a part of `data` may be there.
    """
    with path.open("ab", buffering=0) as file:
        file.truncate(begin)
        while data:
            data = data[file.write(data) :]
