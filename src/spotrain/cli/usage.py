"""What is wrong with a command line, in one line: what was typed, the rule, and what to type."""

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final

import typer
from typer._click import exceptions as faults  # the only place where typer has most of them

from spotrain.cli.errors import UserError

OF_A_CLUSTER: Final = frozenset({"--context", "--namespace", "--region", "--cluster", "--project"})
"""Options that mean nothing for the jobs of this machine."""
NUMBERS: Final[Mapping[type, str]] = {int: "a whole number", float: "a number"}
SCRIPT: Final = "-- SCRIPT"
"""In the metavar of an argument that takes a script with words of its own."""
EXTRA: Final = re.compile(r"unexpected extra argument\(s\) \((.*)\)$", re.DOTALL)
NEAR: Final = 0.75
"""How alike two options are of which one may be meant by the other."""


def in_our_words(error: faults.UsageError) -> UserError:
    """What the parser refused."""
    path = error.ctx.command_path if error.ctx else ""
    tell = f"{path} --help tells what there is."
    match error:
        case faults.NoSuchOption():
            return UserError(
                f"{path} has no option {error.option_name}{_way_on(error) or f'. {tell}'}"
            )
        case faults.MissingParameter() if error.param:
            about = getattr(error.param, "help", "")
            return UserError(f"{_name(error.param)} is missing. {about} {tell}")
        case faults.BadParameter() if error.param:
            return UserError(f"{_name(error.param)}{_value(error)}: {_rule(error.param, error)}.")
        case faults.BadOptionUsage():
            needs = "takes no value" if "not take" in error.message else "needs a value"
            return UserError(f"{error.option_name} {needs}.")
    if extra := EXTRA.search(error.message):
        return UserError(f"{path} takes fewer words: {extra[1]!r} is too much. {tell}")
    return UserError(f"{error.message.rstrip('.')}. {tell}")


def no_such_verb(typed: str, verbs: Sequence[str]) -> UserError:
    near = get_close_matches(typed, verbs)
    hint = f"Did you mean {' or '.join(near)}?" if near else "spotrain --help lists all."
    return UserError(f"there is no verb {typed!r}. {hint}")


def refuse_two_places(typed: Sequence[str]) -> None:
    """`typed`: the options that stand in a command line, by their long names. One that the
    environment gives is no contradiction. Raises UserError."""
    of_a_cluster = [name for name in typed if name in OF_A_CLUSTER]
    if "--local" in typed and of_a_cluster:
        raise UserError(
            f"--local with {' and '.join(of_a_cluster)}: jobs of this machine lie in no cluster; "
            "leave out the one or the other."
        )


def typed_options(ctx: typer.Context) -> list[str]:
    """The long names of those that stand in the command line, defaults or not."""
    return [
        next(name for name in each.opts if name.startswith("--"))
        for each in ctx.command.params
        if each.param_type_name == "option"
        and (source := ctx.get_parameter_source(str(each.name)))
        and source.name == "COMMANDLINE"
    ]


def _way_on(error: faults.NoSuchOption) -> str:
    if near := get_close_matches(error.option_name, error.possibilities or (), cutoff=NEAR):
        return f". Did you mean {' or '.join(near)}?"
    takes = error.ctx.command.params if error.ctx else ()
    if any(SCRIPT in str(getattr(each, "metavar", "")) for each in takes):
        return f". What is meant for the script stands behind --: -- train.py {error.option_name}"
    return ""


def _name(param: Any) -> str:
    """As it is typed."""
    long = [name for name in param.opts if name.startswith("--")]
    return long[0] if long else str(param.metavar or param.name)


def _value(error: faults.BadParameter) -> str:
    """What was given, as pydantic, which judges it for typer, tells."""
    told: Any = error.__cause__
    found = told.errors()[0]["input"] if hasattr(told, "errors") else None
    if found is None:
        return ""
    try:
        float(found)
    except (ValueError, TypeError):
        return f" {found!r}"
    return f" {found}"


def _rule(param: Any, error: faults.BadParameter) -> str:
    asked = param.type_descriptor
    if asked.choices:
        return f"give {_listed([str(each) for each in asked.choices])}"
    if asked.annotation in NUMBERS:
        return f"give {NUMBERS[asked.annotation]}{_bounds(param.min, param.max)}"
    return error.message.rstrip(".")


def _bounds(least: float | None, most: float | None) -> str:
    if least is None and most is None:
        return ""
    if most is None:
        return f" of at least {least:.12g}"
    return f" of at most {most:.12g}" if least is None else f" from {least:.12g} to {most:.12g}"


def _listed(words: Sequence[str]) -> str:
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))
