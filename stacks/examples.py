"""Where a person finds a setting really set: messages name the place only if it is there."""

from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from stacks import yaml_text
from stacks.problems import SETTINGS, SettingsError

ROOT = Path(__file__).parents[1]
PAGE = "docs/configuration.md"


def where_to_look(location: Sequence[str | int], example: str) -> str:
    """`<file> has an example`; where the file lacks this setting, the page that describes it."""
    if _is_set(location, _settings(example)):
        return f"{example} has an example"
    return f"{PAGE} describes it"


@cache
def _settings(example: str) -> object:
    """Of a stack file, or of one that holds nothing but settings; it may be broken just now."""
    with suppress(SettingsError, OSError):
        document = yaml_text.read((ROOT / example).read_bytes(), example).document
        config = document.get("config") if isinstance(document, dict) else None
        return config.get(SETTINGS) if isinstance(config, dict) else document
    return None


def _is_set(location: Sequence[str | int], settings: object) -> bool:
    place = settings
    for part in location:
        if isinstance(part, int):
            place = place[0] if isinstance(place, list) and place else None
        else:
            place = place.get(part) if isinstance(place, dict) else None
    return place is not None
