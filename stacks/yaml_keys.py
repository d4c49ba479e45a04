"""Keys that PyYAML accepts without a word, and that cannot be meant: twice the same, or no name."""

from collections.abc import Iterator

import yaml

from stacks.problems import SETTINGS, Problem, dotted

Location = tuple[str | int, ...]
ABOVE = ("config", SETTINGS)
"""Paths in messages start below it."""
TEXT = "tag:yaml.org,2002:str"
MERGE = "tag:yaml.org,2002:merge"
KINDS = {"null": "nothing", "int": "a number", "float": "a number", "bool": "true or false"}


def problems(root: yaml.Node) -> Iterator[Problem]:
    """Every such key of a document, with its lines."""
    yield from _below(root, (), set())


def _below(node: yaml.Node, location: Location, seen: set[int]) -> Iterator[Problem]:
    if id(node) in seen:  # an alias of what was read already
        return
    seen.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield from _below(item, (*location, index), seen)
    if isinstance(node, yaml.MappingNode):
        first: dict[str, int] = {}
        for key, value in node.value:
            name, line = str(key.value), key.start_mark.line + 1
            if key.tag not in (TEXT, MERGE):
                yield _no_name(location, key)
            elif name in first:
                yield _repeated((*location, name), line, first[name])
            first.setdefault(name, line)
            yield from _below(value, (*location, name), seen)


def _no_name(location: Location, key: yaml.Node) -> Problem:
    kind = KINDS.get(key.tag.rsplit(":", 1)[-1], "something else")
    return Problem(
        path=dotted(_in_settings((*location, str(key.value) or "(empty)"))),
        value=f"line {key.start_mark.line + 1}",
        rule="every key is a name",
        reason=f"YAML reads this one as {kind}, and no setting is called that",
        next_step="write the setting's name before the colon, or remove the line",
    )


def _repeated(location: Location, line: int, first: int) -> Problem:
    return Problem(
        path=dotted(_in_settings(location)),
        value=f"line {line}, and before it line {first}",
        rule="each key once in its section",
        reason="only one of the two would count, and nobody would see which",
        next_step=f"keep the one that you mean and remove the other: line {first} or line {line}",
    )


def _in_settings(location: Location) -> Location:
    below = location[len(ABOVE) :] if location[: len(ABOVE)] == ABOVE else ()
    return below or location
