"""F54 to F57: DAG files that end, hang, or take too much hurt themselves alone."""

from collections.abc import Iterator

import pytest
from tests.integration.services.parser.zoo.ends import ENDS
from tests.integration.services.parser.zoo.greed import GREED, LEFT_BEHIND
from tests.integration.services.parser.zoo.hangs import HANGS, QUICK
from tests.integration.services.parser.zoo.keeper import PLACES, Zoo, dag, running_zoo

pytestmark = pytest.mark.services

_DIFFERENT = {"ignores_every_signal"}
"""One that cannot be asked to end."""

FAULTS = {**ENDS, **QUICK, **GREED}
_REPEATED = {
    *("leaves_with_1", "interrupts", "raises_no_exception", "aborts", "kills_itself"),
    *("recurses", "floods_stderr"),
}
"""Ends that differ from others by a number only, and what unit tests have as well."""
EVERY_PLACE = [f"sleeps_in_place_{number}" for number in range(PLACES)]


@pytest.fixture(scope="module")
def zoo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Zoo]:
    names = {**FAULTS, **HANGS, **LEFT_BEHIND, **dict.fromkeys(EVERY_PLACE)}
    with running_zoo(tmp_path_factory.mktemp("processes"), names) as zoo:
        yield zoo


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.long if name in _REPEATED else ()) for name in FAULTS],
)
def test_a_file_that_fails_has_its_error(zoo: Zoo, name: str) -> None:
    zoo.provoke(name, FAULTS[name])


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in _DIFFERENT else pytest.mark.long) for name in HANGS],
)
def test_a_file_that_hangs_delays_no_edit_of_others(zoo: Zoo, name: str) -> None:
    zoo.provoke(name, HANGS[name], slow=True)


def test_files_that_hang_in_every_place_delay_no_edit_of_others(zoo: Zoo) -> None:
    paths = [f"{name}.py" for name in EVERY_PLACE]
    with zoo.canary():
        for name, path in zip(EVERY_PLACE, paths, strict=True):
            zoo.write(path, dag(name, "good") + HANGS["sleeps"].code)
        zoo.check_edits(*paths)
        for path in paths:
            HANGS["sleeps"].check(zoo.stack.wait_for_import_error(path))


@pytest.mark.parametrize("name", LEFT_BEHIND)
def test_nothing_is_left_of_what_a_file_starts(zoo: Zoo, name: str) -> None:
    zoo.tolerate(name, LEFT_BEHIND[name])
