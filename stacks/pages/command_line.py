"""The verbs of `spotrain` as a page, from the commands themselves."""

import inspect
from collections.abc import Iterator
from typing import Any

import typer

from spotrain.cli.main import PROGRAM, VERBS, load_verb

HEAD = f"""# The command line

`{PROGRAM}` is all that a researcher needs: it talks to the cluster of the kubeconfig, or with
`--local` to the jobs of this machine, which are the same in every answer. An administrator adds a
person to the researchers' group ([security.md](security.md)); nobody needs kubectl or a cloud's
credentials to train. A kubeconfig's `proxy-url` (http, https, socks5) and `tls-server-name` count
as they do for kubectl, such as on the way to a private endpoint.

The answer goes to stdout and the talk to stderr. On a terminal answers are tables; `-o json`,
`-o yaml` and `-o name` are for scripts, whose fields stay. An error is one line that says what to
do next. What watches or follows waits a minute and a half for a cluster that answers no more, says
so, and goes on where it was.

| exit code | means |
| --- | --- |
| 0 | done |
| 1 | the job, the drill or a check (`doctor`, `checkpoints --verify`) failed |
| 2 | wrong usage, or what was asked for cannot be; the answer cannot be written |
| 3 | no cluster, or no right to do this in it |
| 4 | there is no such job, or it has no such worker, world or folder |
| 5 | the name is taken, or the job has ended |
| 130 | Ctrl-C; a job that was sent goes on |
| 141 | whoever read the answer has gone, as in `spotrain list \\| head` |

Where a command is typed, jobs of this machine live in `.spotrain` (`SPOTRAIN_LOCAL_FOLDER` names
another folder). `spotrain --install-completion` lets the shell complete verbs, options and names of
jobs.

This page is written by `make config-reference`.
"""
BAR = "\\|"
"""As it stands in a table's cell."""


def page() -> str:
    parts = [HEAD, _contents()]
    parts.extend("\n".join(_verb(verb)) for verb in VERBS)
    return "\n".join(parts)


def _contents() -> str:
    rows = [f"| [`{verb}`](#{PROGRAM}-{verb}) | {summary} |" for verb, summary in VERBS.items()]
    return "\n".join(["| verb | what it does |", "| --- | --- |", *rows, ""])


def _verb(verb: str) -> Iterator[str]:
    command = load_verb(verb)
    words = [_shape(each) for each in command.params if each.param_type_name == "argument"]
    yield f"## {PROGRAM} {verb}\n"
    yield f"`{' '.join([PROGRAM, verb, *words])}`\n"
    yield f"{inspect.cleandoc(command.help)}\n"
    if command.params:
        context = typer.Context(command, info_name=verb)
        rows = [_row(each, context) for each in command.params]
        yield from ("| | default | meaning |", "| --- | --- | --- |", *rows, "")


def _shape(argument: Any) -> str:
    return str(argument.metavar if argument.required else f"[{argument.metavar}]")


def _row(parameter: Any, context: typer.Context) -> str:
    named = parameter.metavar
    if parameter.param_type_name == "option":
        named, _ = parameter.get_help_record(context)
    told = " ".join((parameter.help or "").split())
    if parameter.envvar:
        told += f" Environment: `{parameter.envvar}`."
    cells = (f"`{named}`", _default(parameter), told)
    return f"| {' | '.join(cell.replace('|', BAR) for cell in cells)} |"


def _default(parameter: Any) -> str:
    if parameter.required:
        return "required"
    is_told = parameter.default is not None and parameter.default is not False
    return f"`{parameter.default}`" if is_told else ""
