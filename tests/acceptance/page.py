"""docs/acceptance.md, made from the list, the tests that are marked, and the mutations' record."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from tests.acceptance.items import ITEMS, PARTS
from tests.acceptance.marked import ROOT, Shown
from tests.acceptance.mutations import MUTATIONS, Mutation

PAGE: Final = ROOT / "docs" / "acceptance.md"
HEAD: Final = """\
# Acceptance

What the controller promises, which tests show it, and where these run: *unit* (no cluster),
*cluster* (etcd and a real API server, `make cluster-tools`), *process kubelet* (a whole control
plane, pods as processes). Made by `make acceptance`; do not edit.

"Switched off" names a change of the source that takes the promise away, and the test that failed
when it was tried.
"""


def render(shown: Sequence[Shown], failures: Mapping[str, str]) -> str:
    """The page. `failures`: digest of a mutation -> the test that failed under it."""
    return "\n".join([HEAD, *_parts(shown, failures)]) + "\n"


def _parts(shown: Sequence[Shown], failures: Mapping[str, str]) -> Iterator[str]:
    for part, numbers in PARTS.items():
        yield f"## {part}"
        for number in numbers:
            yield f"\n**{number}. {ITEMS[number]}**\n"
            yield from _item([s for s in shown if s.item == number])
            yield from (_switch(m, failures) for m in MUTATIONS if number in m.items)
        yield ""


def _item(shown: Sequence[Shown]) -> Iterator[str]:
    for place in ("unit", "cluster", "process kubelet"):
        files = dict.fromkeys(s.file for s in shown if s.where == place)
        for file in files:
            tests = ", ".join(f"`{s.test.removeprefix('test_')}`" for s in shown if s.file == file)
            yield f"- {place}: {file}: {tests}"


def _switch(mutation: Mutation, failures: Mapping[str, str]) -> str:
    failed = failures.get(mutation.digest)
    said = f"`{failed}` fails" if failed else "not tried yet"
    return f"- switched off ({mutation.what}, {mutation.file}): {said}"
