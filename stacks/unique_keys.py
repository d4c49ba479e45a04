"""Reads YAML and refuses a key that stands twice, which PyYAML accepts without a word."""

from collections.abc import Iterator

import yaml

from stacks.problems import Problem, SettingsError, dotted

Location = tuple[str | int, ...]
SETTINGS = ("config", "spotrain:settings")
"""Paths in messages start below it."""


def load(text: str, source: str) -> object:
    """The document, or every repeated key at once."""
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        problems = list(_repeated(root, (), set())) if root else []
        if problems:
            raise SettingsError(source, problems)
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise SettingsError(f"{source} is not YAML: {error}", []) from None


def _repeated(node: yaml.Node, location: Location, seen: set[int]) -> Iterator[Problem]:
    if id(node) in seen:  # an alias of what was read already
        return
    seen.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield from _repeated(item, (*location, index), seen)
    if isinstance(node, yaml.MappingNode):
        first: dict[str, int] = {}
        for key, value in node.value:
            name, line = str(key.value), key.start_mark.line + 1
            if name in first:
                yield _problem((*location, name), line, first[name])
            first.setdefault(name, line)
            yield from _repeated(value, (*location, name), seen)


def _problem(location: Location, line: int, first: int) -> Problem:
    below = location[len(SETTINGS) :] if location[: len(SETTINGS)] == SETTINGS else ()
    return Problem(
        path=dotted(below or location),
        value=f"line {line}, and before it line {first}",
        rule="each key once in its section",
        reason="only one of the two would count, and nobody would see which",
        next_step=f"keep the one that you mean and remove the other: line {first} or line {line}",
    )
