"""The picture: flights, cancellations and delays of each day, one above the other."""

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK: Final = "#1f2933"
FAINT: Final = "#7b8794"
GRID: Final = "#e4e7eb"
FLIGHTS: Final = "#9fb3c8"
CANCELLED: Final = "#d64545"
DEPARTURE: Final = "#0f609b"
ARRIVAL: Final = "#de911d"

MOST_LABELS: Final = 10
"""With more days than this, figures beside the marks would run into each other."""
MOST_GAPS: Final = 60
"""With more bars than this, gaps between them would only flicker."""
WEEK: Final = 7
"""Fewer days than this are drawn as wide as they are in a week."""

STYLE: Final = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "axes.edgecolor": FAINT,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.color": GRID,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.left": False,
}


class Day(Protocol):
    """What the picture shows of a day."""

    @property
    def day(self) -> str: ...
    @property
    def flights(self) -> int: ...
    @property
    def cancelled(self) -> int: ...
    @property
    def mean_dep_delay(self) -> float | None: ...
    @property
    def mean_arr_delay(self) -> float | None: ...


def draw(days: Sequence[Day], path: Path) -> None:
    """Draw `days` into the PNG file `path`; equal days give an equal file."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.dates import date2num
    from matplotlib.figure import Figure

    with rc_context(STYLE):
        figure = Figure(figsize=(9, 7.5), dpi=150, facecolor="white")
        FigureCanvasAgg(figure)
        flights, cancelled, delays = figure.subplots(
            3, 1, sharex=True, gridspec_kw={"height_ratios": [3, 2, 3]}
        )
        dates = [date.fromisoformat(day.day) for day in days]
        places = [float(date2num(day)) for day in dates]
        _draw_bars(flights, places, [day.flights for day in days], FLIGHTS)
        _draw_bars(cancelled, places, [day.cancelled for day in days], CANCELLED)
        _draw_delays(delays, places, days)
        _title(flights, "Flights", "scheduled to leave EWR, JFK and LGA")
        _title(cancelled, "Cancelled", _share(days))
        _title(delays, "Mean delay", "minutes, over the flights that departed or arrived")
        _label_days(delays, places)
        figure.suptitle(_headline(dates), x=0.02, ha="left", fontsize=16, fontweight="bold")
        figure.tight_layout(rect=(0, 0, 1, 0.98), h_pad=2.2)
        figure.savefig(path, format="png")


def _draw_bars(axes: "Axes", places: list[float], counts: list[int], color: str) -> None:
    bars = axes.bar(places, counts, color=color, width=0.8 if len(places) <= MOST_GAPS else 1.0)
    axes.set_ylim(0, max([*counts, 4]) * 1.15)
    if len(places) <= MOST_LABELS:
        axes.set_yticks([])
        axes.bar_label(bars, padding=3, fmt="{:,.0f}")
    else:
        axes.locator_params(axis="y", nbins=4, integer=True)
        axes.yaxis.set_major_formatter("{x:,.0f}")


def _draw_delays(axes: "Axes", places: list[float], days: Sequence[Day]) -> None:
    few = len(places) <= MOST_LABELS
    lines = {
        "at departure": ([day.mean_dep_delay for day in days], DEPARTURE),
        "on arrival": ([day.mean_arr_delay for day in days], ARRIVAL),
    }
    for name, (means, color) in lines.items():
        values = [float("nan") if mean is None else mean for mean in means]
        width = 2.0 if few else 1.2
        axes.plot(places, values, color=color, lw=width, marker="o" if few else "", label=name)
    axes.axhline(0, color=FAINT, lw=0.8)
    axes.margins(y=0.15)
    axes.locator_params(axis="y", nbins=5)
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, frameon=False, borderpad=0)


def _label_days(axes: "Axes", places: list[float]) -> None:
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, DateFormatter

    if places:
        margin = max(0.7, (WEEK - len(places)) / 2)
        axes.set_xlim(min(places) - margin, max(places) + margin)
    if len(places) <= MOST_LABELS:
        axes.set_xticks(places)
        axes.xaxis.set_major_formatter(DateFormatter("%a %-d %b"))
    else:
        locator = AutoDateLocator(minticks=4, maxticks=12)
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(ConciseDateFormatter(locator, show_offset=False))


def _title(axes: "Axes", title: str, about: str) -> None:
    axes.set_title(title, loc="left", fontsize=11, fontweight="bold", pad=10)
    offset: Any = (len(title) * 8.5, 10)
    axes.annotate(
        about, (0, 1), offset, xycoords="axes fraction", textcoords="offset points",
        fontsize=9.5, color=FAINT, va="baseline",
    )  # fmt: skip


def _share(days: Sequence[Day]) -> str:
    flights = sum(day.flights for day in days)
    cancelled = sum(day.cancelled for day in days)
    return f"{cancelled:,} of {flights:,} flights, {cancelled / flights:.1%}" if flights else ""


def _headline(dates: list[date]) -> str:
    if not dates:
        return "Flights out of New York: no days yet"
    first, last = min(dates), max(dates)
    start = "" if first == last else f"{first:%-d %B} to "
    if (first.year, first.month) == (last.year, last.month) and first != last:
        start = f"{first:%-d} to "
    return f"Flights out of New York, {start}{last:%-d %B %Y}"
