"""The stored arguments of a timetable, read with care: they come from a database."""

from collections.abc import Mapping
from datetime import timedelta

from headway.domain.arguments import JsonValue
from headway.domain.errors import TimetableError


class Arguments:
    """Arguments to be taken one by one; each is checked as it is taken."""

    def __init__(self, timetable: str, values: Mapping[str, JsonValue]) -> None:
        self._timetable = timetable
        self._left = dict(values)

    def take_text(self, key: str) -> str:
        """Take an argument that is text."""
        value = self._take(key)
        if not isinstance(value, str):
            raise self._error(f"{key!r} must be text, not {value!r}")
        return value

    def take_duration(self, key: str) -> timedelta:
        """Take an argument that is a duration in seconds."""
        value = self._take(key)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._error(f"{key!r} must be a number of seconds, not {value!r}")
        try:
            return timedelta(seconds=value)
        except (OverflowError, ValueError) as error:
            raise self._error(f"{key!r} is no duration: {value!r} seconds") from error

    def take_optional_duration(self, key: str) -> timedelta | None:
        """Take an argument that is a duration in seconds, or null."""
        if key in self._left and self._left[key] is None:
            del self._left[key]
            return None
        return self.take_duration(key)

    def check_all_taken(self) -> None:
        """Raise TimetableError when an argument is left that the timetable does not know."""
        if self._left:
            raise self._error(f"it does not know {', '.join(map(repr, sorted(self._left)))}")

    def _take(self, key: str) -> JsonValue:
        try:
            return self._left.pop(key)
        except KeyError:
            raise self._error(f"{key!r} is missing") from None

    def _error(self, problem: str) -> TimetableError:
        return TimetableError(
            f"The stored arguments of the timetable {self._timetable!r} do not fit: {problem}. "
            "Let the parser read the DAG file again with this release of Headway."
        )
