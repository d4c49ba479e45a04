"""The command itself: its verbs, what it imports, and what becomes of an error."""

import inspect
import subprocess
import sys
from importlib import import_module

import pytest

from spotrain.cli.main import VERBS

HEAVY = ("boto3", "httpx2", "lightkube", "pulumi", "pydantic", "rich", "torch", "yaml")
"""Clients and frameworks: each takes longer to import than the help to print."""


@pytest.mark.parametrize("verb", VERBS)
def test_the_list_of_verbs_says_what_each_says_of_itself(verb: str) -> None:
    documentation = inspect.getdoc(import_module(f"spotrain.cli.{verb}").command)
    assert documentation
    assert documentation.splitlines()[0] == VERBS[verb]


def test_help_imports_no_client_and_no_framework() -> None:
    script = "import sys; from spotrain.cli.main import main\ntry: main(['--help'])\n"
    script += "finally: print(*sorted(sys.modules), file=sys.stderr)"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert all(verb in ended.stdout for verb in VERBS)
    assert set(HEAVY) & set(ended.stderr.split()) == set()


def test_no_verb_imports_what_only_training_and_the_stack_need() -> None:
    script = "import sys, importlib; from spotrain.cli.main import VERBS\n"
    script += "for verb in VERBS: importlib.import_module('spotrain.cli.' + verb)\n"
    script += "print(*sorted(sys.modules))"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert {"boto3", "pulumi", "torch"} & set(ended.stdout.split()) == set()
