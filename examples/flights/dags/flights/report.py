"""The report: a JSON summary of each day, and one picture of all days there are."""

import json
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from flights.checks import demand_equal
from flights.picture import draw


@dataclass(frozen=True, slots=True)
class Summary:
    """What there is to say about one day; delays are means in minutes, over flights that tell."""

    day: str
    flights: int
    cancelled: int
    diverted: int
    carriers: int
    airports: int
    mean_dep_delay: float | None
    mean_arr_delay: float | None
    with_weather: int
    with_plane: int


def summarise(day: str, figures: Iterable[Mapping[str, Mapping[str, Any]]]) -> Summary:
    """Return the summary of a day, once its three tables are found to agree.

    `figures` are those of all days: of the whole, by carrier, and by airport.
    """
    enriched, carriers, airports = (of_days[day] for of_days in figures)
    demand_equal(
        f"flights of {day}",
        {
            "in all": enriched["rows"],
            "by carrier": carriers.get("flights", 0),
            "departures": airports.get("departures", 0),
            "arrivals": airports.get("arrivals", 0),
        },
    )
    return Summary(
        day=day,
        flights=enriched["rows"],
        cancelled=enriched["cancelled"],
        diverted=enriched["diverted"],
        carriers=carriers["rows"],
        airports=airports["rows"],
        mean_dep_delay=_rounded(enriched["mean_dep_delay"]),
        mean_arr_delay=_rounded(enriched["mean_arr_delay"]),
        with_weather=enriched["with_weather"],
        with_plane=enriched["with_plane"],
    )


def write_summary(summary: Summary, path: Path) -> None:
    """Replace the file of a day's summary."""
    text = json.dumps(asdict(summary), indent=2) + "\n"
    replace(path, lambda scratch: scratch.write_text(text, encoding="utf-8"))


def read_summaries(root: Path) -> list[Summary]:
    """Return the summaries below `root`, in the order of their days."""
    paths = sorted((root / "summary").glob("day=*.json"))
    return [Summary(**json.loads(path.read_text(encoding="utf-8"))) for path in paths]


def redraw(root: Path, draw: Callable[[Sequence[Summary], Path], None] = draw) -> Path:
    """Draw the picture of all days below `root`, and return its place.

    Reports of several days may do this at the same time.  Whoever replaces the
    picture looks again and draws once more when a day has come meanwhile, so the
    picture that stays shows them all.
    """
    picture = root / "report" / "days.png"
    drawn: list[Summary] = []
    while (present := read_summaries(root)) != drawn:
        replace(picture, partial(draw, present))
        drawn = present
    return picture


def replace(path: Path, write: Callable[[Path], object]) -> None:
    """Replace the file `path` in one step by what `write` writes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".writing-") as scratch:
        written = Path(scratch) / path.name
        write(written)
        written.replace(path)


def _rounded(mean: float | None) -> float | None:
    return None if mean is None else round(mean, 2)
