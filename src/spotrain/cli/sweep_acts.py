"""What a command line of `spotrain sweep` asks for, and what may stand in it. Pure."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from spotrain.cli.errors import UserError

FILE_ENDINGS: Final = (".yaml", ".yml")


@dataclass(frozen=True)
class Words:
    """What was typed, sorted."""

    what: str
    """A sweep's name, or a job file's path."""
    tries: Sequence[str]
    """KEY=VALUES each."""
    script: Sequence[str]

    @property
    def is_file(self) -> bool:
        return self.what.endswith(FILE_ENDINGS)

    @property
    def is_name_alone(self) -> bool:
        return not (self.is_file or self.tries or self.script)


def sort_words(words: Sequence[str]) -> Words:
    """The script begins with the first word that is no KEY=VALUES. Raises UserError."""
    what, *rest = words
    if "=" in what:
        raise UserError(f"{what!r}: give the sweep a name first: spotrain sweep NAME {what} ...")
    begins = (at for at, word in enumerate(rest) if "=" not in word or word.startswith("-"))
    begin = next(begins, len(rest))
    return Words(what, rest[:begin], rest[begin:])


class Act(StrEnum):
    """What is done with a sweep."""

    send = "send"
    show = "show"
    follow = "follow"
    limit = "limit"
    stop = "stop"
    resume = "resume"
    delete = "delete"


CHANGES: Final[Mapping[str, Act]] = {
    "--stop": Act.stop,
    "--resume": Act.resume,
    "--delete": Act.delete,
}
"""Options that are about the jobs that are there."""
ALONE: Final[Mapping[str, Act]] = {**CHANGES, "--at-most": Act.limit, "--follow": Act.follow}
"""What a name alone asks for with these options; the first that is given counts."""
ORDER: Final = frozenset(
    {"--gpus", "--gpu-type", "--min-gpus", "--image", "--code", "--env", "--secret"}
    | {"--pool", "--capacity", "--budget"}
)
"""Options that say what each job is; a job file says that itself."""
PLACE: Final = frozenset({"--context", "--namespace", "--local"})
TAKEN: Final[Mapping[Act, frozenset[str]]] = {
    Act.show: PLACE | {"--sort", "--output"},
    Act.follow: PLACE | {"--follow", "--sort", "--output"},
    Act.limit: PLACE | {"--at-most", "--dry-run"},
    Act.stop: PLACE | {"--stop", "--dry-run"},
    Act.resume: PLACE | {"--resume", "--dry-run"},
    Act.delete: PLACE | {"--delete", "--dry-run"},
}
"""The options that mean something beside a name alone; jobs that are sent take all but CHANGES."""


def asked_act(words: Words, given: Collection[str]) -> Act:
    """`given`: the options that were typed, by their long names.

    Raises:
        UserError: they contradict each other, or one of them would do nothing.
    """
    changes = [option for option in CHANGES if option in given]
    if len(changes) > 1:
        raise UserError(f"{' and '.join(changes)} contradict each other; give one.")
    if not words.is_name_alone or "--list" in given:
        if changes:
            raise UserError(f"{changes[0]} is about a sweep that is there: give its name alone.")
        _refuse_half_a_job(words, given)
        return Act.send
    if {"--at-most", "--local"} <= set(given):
        raise UserError(
            "--at-most with --local: on this machine only the command that sends the jobs counts "
            "them; end it by Ctrl-C, and send the same sweep with another --at-most."
        )
    option = next((each for each in ALONE if each in given), "")
    act = ALONE[option] if option else Act.show
    if idle := [each for each in given if each not in TAKEN[act]]:
        raise UserError(_told_idle(idle, option, words.what))
    return act


def _refuse_half_a_job(words: Words, given: Collection[str]) -> None:
    """A job is a file, or a script and a size: neither both nor less."""
    if words.is_file and (words.script or not ORDER.isdisjoint(given)):
        raise UserError(
            f"{words.what} says itself what runs, where and how large: leave the script and the "
            "options of submit out, or give a name in the place of the file."
        )
    if not words.is_file and not (words.script and "--gpus" in given):
        raise UserError(
            f"a new sweep needs --gpus and a script: spotrain sweep {words.what} KEY=VALUES "
            "--gpus 1 -- train.py"
        )


def _told_idle(idle: Collection[str], option: str, sweep: str) -> str:
    meaning = f"{' and '.join(idle)} {'mean' if len(idle) > 1 else 'means'} nothing beside"
    if option:
        return f"{meaning} {option} of sweep {sweep}: leave out the one or the other."
    return (
        f"{meaning} the name of a sweep alone, which shows {sweep} and sends nothing: leave "
        f"that out, or give what to send: spotrain sweep {sweep} lr=0.1,0.01 --gpus 1 -- train.py"
    )
