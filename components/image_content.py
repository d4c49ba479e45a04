"""What is in an image, and a tag that says so; alike on every cloud."""

import hashlib
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
KINDS = ("training", "controller")
BUILDER = "components/image_build.py"
"""Built in another way, an image gets another tag, since no tag takes a second image."""


def sources(root: Path, kind: str) -> list[str]:
    """What decides what is in an image: the files that its .dockerignore lets through, its
    Dockerfile, and how it is built. Paths may hold `*`."""
    dockerfile = f"{kind}-image/Dockerfile"
    ignore = f"{dockerfile}.dockerignore"
    lines = (root / ignore).read_text().splitlines()
    return [dockerfile, ignore, BUILDER, *(line[1:] for line in lines if line.startswith("!"))]


def content_tag(root: Path, sources: Iterable[str], base: str) -> str:
    """A tag that changes whenever an image would be built anew, and only then.

    Modes count: they are in the image, and differ where people have different umasks.
    """
    digest = hashlib.sha256(base.encode())
    for file in sorted({file for source in sources for file in _files(root, source)}):
        mode = stat.S_IMODE(file.stat().st_mode)
        digest.update(f"{file.relative_to(root).as_posix()}\0{mode:o}\0".encode())
        digest.update(file.read_bytes() + b"\0")
    return f"src-{digest.hexdigest()[:16]}"


def _files(root: Path, source: str) -> Iterator[Path]:
    for top in root.glob(source):
        for file in [top] if top.is_file() else top.rglob("*"):
            if file.is_file() and "__pycache__" not in file.parts:
                yield file
