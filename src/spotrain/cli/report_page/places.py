"""One colour for each place, the same in all figures."""

from collections import defaultdict
from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from spotrain.cli.report_page.story import Story
from spotrain.ledger.entries import Place

COLOURS: Final = 6
REST: Final = "place-rest"
"""Class of what has no colour of its own."""
UNKNOWN: Final = "place not recorded"


def place_name(place: Place) -> str:
    return f"{place.pool}, {place.zone}, {place.capacity}"


class Colours:
    """The places where most was done have colours of their own."""

    def __init__(self, story: Story) -> None:
        seconds: dict[str, float] = defaultdict(float)
        for world in story.worlds:
            lasted = (world.ended_at or story.record.life.until) - world.published_at
            for members in world.members:
                seconds[place_name(members.place)] += members.workers * (
                    lasted / timedelta(seconds=1)
                )
        for stay in story.record.stays:
            if stay.place:
                seconds[place_name(stay.place)] += 0.0
        ordered = sorted(seconds, key=lambda name: (-seconds[name], name))
        self._classes = {
            name: f"place-{index}" if index < COLOURS else REST
            for index, name in enumerate(ordered)
        }

    def of(self, name: str) -> str:
        """The class of a place by its name."""
        return self._classes.get(name, REST)

    @property
    def legend(self) -> Mapping[str, str]:
        """Name -> class, the busiest place first."""
        return self._classes
