"""The stored arguments of a timetable, read with care: they come from a database."""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from math import isfinite
from typing import TYPE_CHECKING, Final, TypeAlias

from headway.domain.arguments import JsonValue
from headway.domain.errors import TimetableError, brief
from headway.timetables.durations import Length, read_length

if TYPE_CHECKING:
    from headway.timetables.base import Timetable

LONGEST_TEXT: Final = 1000
"""Characters of one argument beyond which it is refused."""

Decoder: TypeAlias = Callable[[str, Mapping[str, JsonValue]], "Timetable"]


class Arguments:
    """Arguments to be taken one by one; each is checked as it is taken.

    `decode` makes a timetable that is an argument of another one.
    """

    def __init__(
        self, timetable: str, values: Mapping[str, JsonValue], decode: Decoder | None = None
    ) -> None:
        self._timetable = timetable
        self._left = dict(values)
        self._decode = decode

    def take_text(self, key: str) -> str:
        """Take an argument that is text."""
        return self._text(key, self._take(key))

    def take_optional_text(self, key: str) -> str | None:
        """Take an argument that is text, or null."""
        value = self._take(key)
        return None if value is None else self._text(key, value)

    def take_texts(self, key: str, most: int) -> list[str]:
        """Take an argument that is a list of at most so many texts."""
        return [self._text(key, item) for item in self._list(key, most)]

    def take_number(self, key: str) -> float:
        """Take an argument that is a number."""
        value = self._take(key)
        if not _is_number(value):
            raise self.error(f"{key!r} must be a number, not {brief(value)}")
        assert isinstance(value, int | float)
        return value

    def take_whole(self, key: str) -> int:
        """Take an argument that is a whole number."""
        value = self._take(key)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.error(f"{key!r} must be a whole number, not {brief(value)}")
        return value

    def take_length(self, key: str, *, signed: bool = False) -> Length:
        """Take an argument that is a duration: a number of seconds, or ISO 8601 text."""
        return self._length(key, self._take(key), signed=signed)

    def take_optional_length(self, key: str) -> Length | None:
        """Take an argument that is a duration, or null."""
        value = self._take(key)
        return None if value is None else self._length(key, value)

    def take_timetable(self, key: str) -> "Timetable":
        """Take an argument that is a timetable."""
        return self._timetable_of(key, self._take(key))

    def take_timetables(self, key: str, most: int) -> "list[Timetable]":
        """Take an argument that is a list of at most so many timetables."""
        return [self._timetable_of(key, item) for item in self._list(key, most)]

    def take_tree(self, key: str) -> JsonValue:
        """Take an argument whose form the timetable checks itself."""
        return self._take(key)

    def check_all_taken(self) -> None:
        """Raise TimetableError when an argument is left that the timetable does not know."""
        if self._left:
            raise self.error(f"it does not know {', '.join(map(brief, sorted(self._left)))}")

    def error(self, problem: str) -> TimetableError:
        """Return the error that tells what does not fit."""
        return TimetableError(
            f"The stored arguments of the timetable {self._timetable!r} do not fit: {problem}. "
            "Let the parser read the DAG file again with this release of Headway."
        )

    def _take(self, key: str) -> JsonValue:
        try:
            return self._left.pop(key)
        except KeyError:
            raise self.error(f"{key!r} is missing") from None

    def _list(self, key: str, most: int) -> Sequence[JsonValue]:
        value = self._take(key)
        if not isinstance(value, list) or len(value) > most:
            raise self.error(f"{key!r} must be a list of at most {most:,}, not {brief(value)}")
        return value

    def _text(self, key: str, value: JsonValue) -> str:
        if not isinstance(value, str):
            raise self.error(f"{key!r} must be text, not {brief(value)}")
        if len(value) > LONGEST_TEXT:
            raise self.error(f"{key!r} has more than {LONGEST_TEXT:,} characters")
        return value

    def _length(self, key: str, value: JsonValue, *, signed: bool = False) -> Length:
        if not _is_number(value) and not isinstance(value, str):
            raise self.error(
                f"{key!r} must be a number of seconds or ISO 8601 text, not {brief(value)}"
            )
        try:
            length = timedelta(seconds=value) if isinstance(value, int | float) else value
        except (OverflowError, ValueError) as error:
            raise self.error(f"{key!r} is no duration: {value!r} seconds") from error
        return read_length(f"The {key} of a timetable", length, signed=signed)

    def _timetable_of(self, key: str, value: JsonValue) -> "Timetable":
        if not isinstance(value, dict) or set(value) != {"name", "arguments"}:
            raise self.error(f"{key!r} must be a timetable, not {brief(value)}")
        name, arguments = value["name"], value["arguments"]
        if not isinstance(name, str) or not isinstance(arguments, dict) or self._decode is None:
            raise self.error(f"{key!r} must be a timetable, not {brief(value)}")
        return self._decode(name, arguments)


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
