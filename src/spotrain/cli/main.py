"""The command `spotrain`: which verbs there are, and what becomes of an error.

A verb is a module of this package with a function `command`. It is imported when it is asked for,
so that help and shell completion need not wait for the clients of a cluster.
"""

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Annotated, Any, Final

import typer
from typer._click.exceptions import NoArgsIsHelpError, UsageError
from typer.core import CompletionItem, TyperCommand, TyperGroup  # type: ignore[attr-defined]

from spotrain.cli.errors import OK, USAGE, UserError
from spotrain.cli.pipes import open_outputs
from spotrain.cli.usage import in_our_words, no_such_verb, refuse_two_places, typed_options

PROGRAM: Final = "spotrain"
VERBS: Final[Mapping[str, str]] = {
    "init": "Write a small project: a training script, a job file and a README.",
    "run": "Play a job file on this machine, with workers as processes, to its end.",
    "gpus": "What GPUs there are: where, how many are free, and what they cost now.",
    "submit": "Train: send a job of so many GPUs, which runs SCRIPT in every worker.",
    "sweep": "One job for each combination of values, and what came of each.",
    "list": "The jobs: what each is doing, and how far it is.",
    "status": "What one job is doing, how far it is, what it cost, and why it waits.",
    "describe": "All of one job: what it runs, its conditions, worlds and places.",
    "explain": "Why a job waits, crashes or has stopped, and what to do about it.",
    "logs": "What the workers of a job have written, from its first moment on.",
    "checkpoints": "The checkpoints of a job: step, world, size, age, and whether they are whole.",
    "stop": "Suspend a job: it saves, and gives its nodes back.",
    "resume": "Go on with a stopped job, from its last checkpoint; with a larger budget, if it "
    "needs one.",
    "scale": "Change the number of GPUs of a job while it trains.",
    "delete": "Remove jobs; what they wrote under output/ stays.",
    "cost": "What jobs cost and saved, by pool, zone and capacity type, and what was lost or idle.",
    "drill": "Interrupt a job for real, and say what that cost and whether it is within limits.",
    "board": "TensorBoard over what jobs have written under output/, until Ctrl-C.",
    "report": "A job as one HTML page: worlds, lost time, throughput, metrics, cost, checkpoints.",
    "doctor": "Check what would keep jobs from running, before money is spent: 1 if something "
    "would.",
    "simulate": "Play a record of spot capacity: time, goodput and dollars, beside torchrun and "
    "restarts.",
}
"""Every verb with the first line of its help, in the order in which a newcomer meets them."""


class Verbs(TyperGroup):
    """The verbs of `VERBS`; each is looked at only when it is used."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.commands and cmd_name in VERBS:
            self.commands[cmd_name] = load_verb(cmd_name)
        return self.commands.get(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] not in VERBS and not ctx.resilient_parsing:
            raise no_such_verb(args[0], list(VERBS))
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        found = [verb for verb in VERBS if verb.startswith(incomplete)]
        return [CompletionItem(verb, help=VERBS[verb]) for verb in found]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))


class Verb(TyperCommand):
    """One of them; what holds for all of them is refused before it runs."""

    def invoke(self, ctx: Any) -> Any:
        refuse_two_places(typed_options(ctx))
        return super().invoke(ctx)


def load_verb(verb: str) -> Any:
    """The command of a verb, for the group and for the documentation."""
    module = import_module(f"spotrain.cli.{verb}")
    alone = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)
    alone.command(name=verb, cls=Verb)(module.command)
    return typer.main.get_command(alone)


app = typer.Typer(
    cls=Verbs,
    name=PROGRAM,
    no_args_is_help=True,
    rich_markup_mode=None,  # rich takes longer to import than the help to print
    pretty_exceptions_enable=False,
    add_completion=True,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(version("spotrain"))
        raise typer.Exit


@app.callback()
def spotrain(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show it.")
    ] = False,
) -> None:
    """Train on spot GPUs: submit jobs, follow them, and see what they cost.

    `spotrain VERB --help` tells what a verb takes. Exit codes: 0 ok, 1 the job or the drill failed,
    2 wrong usage, 3 no cluster or no permission, 4 not found, 5 the name is taken, 130 Ctrl-C.
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """The console script. Ends the process with the exit code."""
    with open_outputs():
        try:
            code = app(args=arguments, prog_name=PROGRAM, standalone_mode=False) or OK
            sys.stdout.flush()
        except NoArgsIsHelpError as asked:
            asked.show()
            code = USAGE
        except UsageError as error:
            code = _refuse(in_our_words(error))
        except UserError as error:
            code = _refuse(error)
        sys.exit(code)


def _refuse(error: UserError) -> int:
    print(f"{PROGRAM}: {error.message}", file=sys.stderr)
    return error.exit_code
