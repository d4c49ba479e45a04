"""Writes docs/acceptance.md: `python -m tests.acceptance` (a few minutes) or with --page (seconds).

Each mutation is made in a copy of the tree, and the tests of its items are run there. One that
nobody notices stops it: then a promise has no test.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.acceptance.marked import ROOT, Shown, find_shown
from tests.acceptance.mutations import MUTATIONS, RECORD, Mutation, read_record
from tests.acceptance.page import PAGE, render

PARTS = ("src", "tests", "k8s", "stacks", "components", "docs", "training-image", "demo")
FILES = ("pyproject.toml", "__main__.py", "Pulumi.yaml", "README.md", "CHANGELOG.md", "Makefile")


def copy_tree(target: Path) -> None:
    """What the tests need of the repository."""
    for part in PARTS:
        leave = shutil.ignore_patterns("__pycache__", ".*_cache", ".hypothesis")
        shutil.copytree(ROOT / part, target / part, ignore=leave)
    for file in FILES:
        shutil.copy(ROOT / file, target / file)


def run_tests(tree: Path, tests: Sequence[Shown]) -> str:
    """The test that failed, or nothing."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-rf", "-p", "no:cacheprovider"]
    path = os.pathsep.join([str(tree / "src"), str(tree)])
    done = subprocess.run(
        [*command, *sorted({test.node_id for test in tests})],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    failed = re.search(r"^FAILED \S+::(\w+)", done.stdout, re.MULTILINE)
    if done.returncode not in (0, 1) or (done.returncode and not failed):
        raise SystemExit(f"the tests could not be run:\n{done.stdout[-3000:]}{done.stderr[-2000:]}")
    return failed[1] if failed else ""


def tests_of(mutation: Mutation, shown: Sequence[Shown]) -> list[Shown]:
    """Those without a cluster, where there are any: they are as strict, and sooner done."""
    meant = [s for s in shown if s.item in mutation.items]
    unit = [s for s in meant if s.where == "unit"]
    return [s for s in meant if s.where == "cluster"] if mutation.cluster else unit or meant


def try_out(mutations: Sequence[Mutation], shown: Sequence[Shown]) -> Iterator[tuple[str, str]]:
    """(digest, the test that noticed) of each mutation."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        copy_tree(tree)
        needed = {test for mutation in mutations for test in tests_of(mutation, shown)}
        if mutations and (failed := run_tests(tree, sorted(needed))):
            raise SystemExit(f"{failed} fails as it is; mend that first.")
        for mutation in mutations:
            source = tree / mutation.file
            text = source.read_text()
            source.write_text(mutation.apply(text))
            failed = run_tests(tree, tests_of(mutation, shown))
            source.write_text(text)
            print(f"{mutation.items} {mutation.what}: {failed or 'NOT NOTICED'}", flush=True)
            yield mutation.digest, failed


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.acceptance", description=__doc__)
    parser.add_argument("--page", action="store_true", help="do not try the mutations anew")
    parser.add_argument("--new", action="store_true", help="try only those without a record")
    chosen = parser.parse_args()
    shown, record = find_shown(), read_record()
    if not chosen.page:
        known = {m.digest for m in MUTATIONS if chosen.new and record.get(m.digest)}
        record = {digest: record[digest] for digest in known}
        for digest, failed in try_out([m for m in MUTATIONS if m.digest not in record], shown):
            record[digest] = failed
            RECORD.write_text(json.dumps(dict(sorted(record.items())), indent=2) + "\n")
    PAGE.write_text(render(shown, record))
    unnoticed = [m.what for m in MUTATIONS if not record.get(m.digest)]
    for what in unnoticed:
        print(f"no test notices: {what}", file=sys.stderr)
    return 1 if unnoticed and not chosen.page else 0


if __name__ == "__main__":
    sys.exit(main())
