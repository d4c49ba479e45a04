"""How long each way of recovering takes, read from what the other benchmarks measured."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any

from bench.page import RESULTS


@dataclass(frozen=True, kw_only=True)
class Figure:
    seconds: float
    source: str


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Medians."""

    planned: Figure
    """Pause of a change with notice, and of growth: the longer of the two."""
    loss: Figure
    """Pause of a loss without notice."""
    tuned: Figure
    """torchrun with the fastest settings that are safe."""
    stock: Figure
    """torchrun's defaults."""
    save: Figure
    """For so long a checkpoint stops training."""
    torch_save: Figure


def read_figures() -> Figures:
    """Raises FileNotFoundError where losses or checkpoints have not been measured."""
    loss = _results("loss")
    saves = _results("checkpoint")["stall_seconds"]["302"]
    return Figures(
        planned=_planned(),
        loss=_pause("loss", "session", "all cases"),
        tuned=_pause("loss", "tuned", "all cases"),
        # Rank 0 or two at once: stock torchrun came back late or never. It is treated as though it
        # always did as well as in the simplest case.
        stock=_from(
            [t["from_event"] for t in loss["trials"] if _is_simple(t) and not t["never"]],
            "loss.json, one of 2 killed",
        ),
        save=_from(saves["ours"], "checkpoint.json, 302 MB"),
        torch_save=_from(saves["torch.save"], "checkpoint.json, 302 MB"),
    )


def _planned() -> Figure:
    """The measured pauses of planned changes; where there are none yet, that of a loss."""
    measured = [name for name in ("notice", "growth") if (RESULTS / f"{name}.json").exists()]
    if not measured:
        loss = _pause("loss", "session", "all cases")
        return Figure(
            seconds=loss.seconds,
            source="as a loss: planned changes are not measured on a quiet machine yet",
        )
    return max(
        (_pause(name, "session", "all trials") for name in measured),
        key=lambda figure: figure.seconds,
    )


def _is_simple(trial: dict[str, Any]) -> bool:
    return bool(trial["launcher"] == "stock" and trial["case"] == "one of 2")


def _pause(name: str, launcher: str, what: str) -> Figure:
    def of(trial: dict[str, Any]) -> bool:
        return bool(trial["launcher"] == launcher and not trial["never"])

    return _from(list(_pauses(name, of)), f"{name}.json, {what}")


def _pauses(name: str, of: Callable[[dict[str, Any]], bool]) -> Iterator[float]:
    """From the event where it is a loss, for nobody trains from then on; else the standstill."""
    key = "from_event" if name == "loss" else "pause"
    for trial in _results(name)["trials"]:
        if of(trial):
            yield trial[key]


def _from(seconds: list[float], source: str) -> Figure:
    return Figure(seconds=round(median(seconds), 2), source=source)


def _results(name: str) -> Any:
    return json.loads((RESULTS / f"{name}.json").read_text())
