"""Which cloud settings are for, also where they say it wrongly, so that the rest can be judged."""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from pydantic import BaseModel

from stacks import clouds
from stacks.field_problems import section_in
from stacks.problems import UNSET, Problem, suggestion, unknown_setting

FIELD = "cloud"


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A cloud, and the settings as if they had named it right."""

    cloud: str | None
    """None: nobody can tell."""
    settings: Mapping[str, object]
    problem: Problem | None


def choose(settings: Mapping[str, object]) -> Choice:
    """The cloud that is named, else the one that is likely meant."""
    near = get_close_matches(FIELD, [key for key in settings if isinstance(key, str)], n=1)
    key = FIELD if FIELD in settings or not near else near[0]
    given = settings.get(key)
    cloud = _named(given) or _by_settings(settings)
    if key == FIELD:
        problem = None if cloud and given == cloud else _wrong(given)
    else:
        problem = unknown_setting(key, given, key, [FIELD])
    others = {name: value for name, value in settings.items() if name != key}
    return Choice(cloud=cloud, settings={**others, FIELD: cloud}, problem=problem)


def _named(given: object) -> str | None:
    if isinstance(given, str) and given in clouds.MODULES:
        return given
    near = get_close_matches(str(given).lower(), clouds.MODULES, n=1)
    return near[0] if near else None


def _by_settings(settings: Mapping[str, object]) -> str | None:
    """The cloud that knows most of what is there, at any depth."""
    counts = {cloud: _known(clouds.settings_class(cloud), settings) for cloud in clouds.SCHEMAS}
    most = max(counts.values())
    likely = [cloud for cloud, count in counts.items() if count == most]
    return likely[0] if len(likely) == 1 else None


def _known(section: type[BaseModel], given: Mapping[str, object]) -> int:
    """How many settings of this name the section has, and the sections in it."""
    fields = section.model_fields
    found = [(fields[name], value) for name, value in given.items() if name in fields]
    total = len(found)
    for field, value in found:
        inner = section_in(field.annotation)
        for part in value if isinstance(value, list) else [value]:
            if inner and isinstance(part, Mapping):
                total += _known(inner, part)
    return total


def _wrong(given: object) -> Problem:
    return Problem(
        path=FIELD,
        value=UNSET if given is None else given,
        rule=f"one of: {', '.join(sorted(clouds.MODULES))}",
        reason="it decides what else may be set",
        next_step="add `cloud: aws`" if given is None else suggestion(str(given), clouds.MODULES),
    )
