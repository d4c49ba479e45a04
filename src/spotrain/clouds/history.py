"""What spot nodes cost in the past. What a cloud told of a day that is over is not asked again.

Each market (instance type and zone) has a file with the days that are known; a file that cannot be
read is as none, and one that cannot be written is done without.
"""

import json
import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Final, NamedTuple

from spotrain.clouds.zones import aws_region, gcp_region
from spotrain.ledger.prices import Quote

KEPT: Final = timedelta(days=90)
"""For how long EC2 remembers prices."""
SETTLED: Final = timedelta(hours=1)
"""After its end a day is over, and no late record of it comes any more."""
_DAY: Final = timedelta(days=1)
_TYPE: Final = re.compile(r"[a-z0-9.-]+")

Ask = Callable[[str, Sequence[str], Sequence[str], datetime, datetime], Sequence[Quote]]
"""Region, instance types, zones, since, until -> the record; raises NoHistory."""


class NoHistory(Exception):
    """The cloud told nothing. One line for a person: what, why, and what to do."""


class Market(NamedTuple):
    """What has a spot price of its own."""

    instance_type: str
    zone: str


@dataclass(frozen=True, kw_only=True)
class History:
    quotes: tuple[Quote, ...]
    problem: str = ""
    """Why it is not whole: one line for a person. What lacks is priced otherwise."""


def cache_folder() -> Path:
    """The user's own, as the XDG base directories say."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "spotrain" / "spot-prices"


def history(
    markets: Iterable[Market],
    *,
    since: datetime,
    now: datetime,
    ask: Ask,
    folder: Path,
) -> History:
    """The prices of these markets from `since` to `now`, from the cache and from the cloud."""
    problems: list[str] = []
    if now - since > KEPT:
        problems.append(f"no cloud tells prices of more than {KEPT.days} days ago.")
    first = max(since, now - KEPT).astimezone(UTC).date()
    quotes: list[Quote] = []
    by_region: dict[str | None, list[Market]] = defaultdict(list)
    for market in sorted(set(markets)):
        is_type = _TYPE.fullmatch(market.instance_type)  # it names a file, and comes from a label
        by_region[aws_region(market.zone) if is_type else None].append(market)
    for region, those in by_region.items():
        if region is None:
            problems += _without_record(those)
            continue
        try:
            quotes += _of_region(region, those, first=first, now=now, ask=ask, folder=folder)
        except NoHistory as error:
            problems.append(str(error))
            quotes += (
                quote for market in those for day in _read(folder, market).values() for quote in day
            )
    return History(quotes=tuple(quotes), problem=" ".join(problems))


def _without_record(markets: Sequence[Market]) -> Iterator[str]:
    if google := [market for market in markets if gcp_region(market.zone)]:
        yield f"Google Cloud keeps no record of past prices: {_names(google)}."
    if others := [market for market in markets if not gcp_region(market.zone)]:
        yield f"AWS alone is asked for prices, and knows no {_names(others)}."


def _names(markets: Sequence[Market]) -> str:
    return ", ".join(f"{market.instance_type} in {market.zone}" for market in markets)


def _of_region(
    region: str, markets: Sequence[Market], *, first: date, now: datetime, ask: Ask, folder: Path
) -> Iterator[Quote]:
    known = {market: _read(folder, market) for market in markets}
    days = list(_days(first, now))
    missing = [day for day in days if any(day not in known[market] for market in markets)]
    if missing:
        types = sorted({market.instance_type for market in markets})
        zones = sorted({market.zone for market in markets})
        # One request for all that lacks: today lacks always.
        told = ask(region, types, zones, _start(missing[0]), now)
        over = [day for day in missing if _start(day) + _DAY + SETTLED <= now]
        for market in markets:
            own = [q for q in told if (q.instance_type, q.zone) == market]
            fresh = {day: _of_day(own, day) for day in missing}
            known[market] = known[market] | fresh
            # A market of which nothing was told may be misspelt, or come to be sold.
            if own and over:
                _write(folder, market, _read(folder, market) | {day: fresh[day] for day in over})
    for market in markets:
        for day in days:
            yield from known[market][day]


def _days(first: date, now: datetime) -> Iterator[date]:
    last = now.astimezone(UTC).date()
    for number in range((last - first).days + 1):
        yield first + number * _DAY


def _start(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def _of_day(quotes: Sequence[Quote], day: date) -> list[Quote]:
    """The price that held when it began, and all that came in it."""
    start = _start(day)
    earlier = [quote for quote in quotes if quote.since <= start]
    newest = max((quote.since for quote in earlier), default=start)
    return [q for q in quotes if q.since == newest or start < q.since < start + _DAY]


_KnownDays = Mapping[date, Sequence[Quote]]


def _file(folder: Path, market: Market) -> Path:
    return folder / f"{market.zone}_{market.instance_type}.json"


def _read(folder: Path, market: Market) -> dict[date, Sequence[Quote]]:
    try:
        days = json.loads(_file(folder, market).read_bytes())["days"]
        return {
            date.fromisoformat(day): [_quote(market, since, usd) for since, usd in pairs]
            for day, pairs in days.items()
        }
    except (OSError, ValueError, TypeError, LookupError, AttributeError):
        return {}


def _quote(market: Market, since: str, usd: float) -> Quote:
    at = datetime.fromisoformat(since)
    return Quote(
        instance_type=market.instance_type, zone=market.zone, usd_per_hour=float(usd), since=at
    )


def _write(folder: Path, market: Market, days: _KnownDays) -> None:
    """Beside, then in place: a reader sees the old file or the new one."""
    document = {
        "days": {
            day.isoformat(): [(quote.since.isoformat(), quote.usd_per_hour) for quote in quotes]
            for day, quotes in sorted(days.items())
        }
    }
    path = _file(folder, market)
    partial = path.with_suffix(f".{os.getpid()}")
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        partial.write_text(json.dumps(document))
        os.replace(partial, path)
