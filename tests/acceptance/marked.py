"""Which tests show which item: read from their source, so that nothing has to be imported."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
NODES: Final = "tests/cluster/nodes/"
"""Tests here run real pods as processes."""
CLUSTER: Final = "tests/cluster/"


@dataclass(frozen=True, order=True)
class Shown:
    """A test that shows an item."""

    item: int
    file: str
    test: str

    @property
    def node_id(self) -> str:
        return f"{self.file}::{self.test}"

    @property
    def where(self) -> str:
        if self.file.startswith(NODES):
            return "process kubelet"
        return "cluster" if self.file.startswith(CLUSTER) else "unit"


def find_shown(root: Path = ROOT) -> list[Shown]:
    """Every test under tests/ that is marked with items, in the order of these."""
    files = sorted((root / "tests").rglob("test_*.py"))
    return sorted(shown for file in files for shown in _read(file, str(file.relative_to(root))))


def _read(file: Path, name: str) -> Iterator[Shown]:
    body = ast.parse(file.read_text()).body
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            for item in sorted(set(_items(statement.decorator_list))):
                yield Shown(item, name, statement.name)


def _items(decorators: list[ast.expr]) -> Iterator[int]:
    for decorator in decorators:
        if not isinstance(decorator, ast.Call):
            continue
        if ast.unparse(decorator.func) == "pytest.mark.acceptance":
            yield from map(ast.literal_eval, decorator.args)
