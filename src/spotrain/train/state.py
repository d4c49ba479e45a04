"""What a checkpoint may hold, and how it is taken apart: tensors here, everything else there."""

from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Final

import torch
from torch.distributed.tensor import DTensor

LEAVES: Final = (type(None), bool, int, float, complex, str, bytes, torch.dtype, torch.device)
TENSORS: Final = (torch.Tensor, torch.nn.Parameter, DTensor)
MAPPINGS: Final = (dict, OrderedDict, Counter)
SEQUENCES: Final = (list, tuple, set, torch.Size)


def require_safe(value: Any, path: str = "state") -> None:
    """Refuse now what `torch.load(weights_only=True)` would refuse on the way back.

    Without this, a stray NumPy number in a state goes unnoticed until the day of the restore.
    """
    kind = type(value)  # exact: a NumPy float64 is a float to isinstance, but not to torch.load
    if kind in MAPPINGS:
        for key, item in value.items():
            require_safe(key, f"a key of {path}")
            require_safe(item, f"{path}[{key!r}]")
    elif kind in SEQUENCES:
        for number, item in enumerate(value):
            require_safe(item, f"{path}[{number}]")
    elif kind not in LEAVES and kind not in TENSORS:
        raise TypeError(
            f"{path} is a {kind.__module__}.{kind.__qualname__}, but a checkpoint holds only "
            "tensors, plain numbers, strings and containers of them, since anything else could "
            "run code when loaded: convert it in your state_dict"
        )


def split(state: Mapping[str, Any]) -> tuple[Any, dict[str, torch.Tensor]]:
    """The skeleton of a state, and its tensors by name.

    The skeleton is a copy of the state with tensors on the meta device (shape and type, no data):
    what is done to the state afterwards does not show in it. Names are paths, such as
    `tracked.model.fc.weight`; `join` finds them again by walking in the same order.
    """
    tensors: dict[str, torch.Tensor] = {}

    def take(name: str, tensor: torch.Tensor) -> torch.Tensor:
        tensors[name] = tensor.detach()
        return torch.empty(tensor.shape, dtype=tensor.dtype, device="meta")

    return _walk(state, _Names(), take, is_here=_has_data), tensors


def join(skeleton: Any, tensors: Callable[[str, torch.Tensor], torch.Tensor]) -> Any:
    """The state again; `tensors` gives the one of a name, and is told its shape and type."""
    return _walk(skeleton, _Names(), tensors, is_here=lambda tensor: tensor.is_meta)


def _has_data(tensor: torch.Tensor) -> bool:
    """Sparse and empty tensors stay in the skeleton: they have no plain block of bytes."""
    return tensor.layout is torch.strided and tensor.numel() > 0


class _Names:
    """Distinct names for paths: the keys "a.b" and "a" -> "b" would else be told apart by none."""

    def __init__(self) -> None:
        self._used: Counter[str] = Counter()

    def of(self, path: tuple[object, ...]) -> str:
        name = ".".join(map(str, path))
        self._used[name] += 1
        return name if self._used[name] == 1 else f"{name}#{self._used[name]}"


def _walk(
    value: Any,
    names: _Names,
    change: Callable[[str, torch.Tensor], torch.Tensor],
    *,
    is_here: Callable[[torch.Tensor], bool],
    path: tuple[object, ...] = (),
) -> Any:
    """A copy of nested containers, in which `change` has replaced the tensors that are here."""

    def go_on(key: object, item: Any) -> Any:
        return _walk(item, names, change, is_here=is_here, path=(*path, key))

    if isinstance(value, torch.Tensor):
        return change(names.of(path), value) if is_here(value) else value
    if type(value) in MAPPINGS:
        copy = type(value)({key: go_on(key, item) for key, item in value.items()})
        if isinstance(value, OrderedDict):  # a module's state carries its modules' versions so
            copy.__dict__.update(value.__dict__)
        return copy
    if type(value) in (list, tuple):
        return type(value)(go_on(number, item) for number, item in enumerate(value))
    return set(value) if isinstance(value, set) else value
