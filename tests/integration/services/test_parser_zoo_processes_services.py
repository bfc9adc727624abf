"""F54 to F57: DAG files that end, hang, or take too much hurt themselves alone."""

from collections.abc import Iterator

import pytest
from tests.integration.services.zoo.ends import ENDS
from tests.integration.services.zoo.greed import GREED, LEFT_BEHIND
from tests.integration.services.zoo.hangs import HANGS, QUICK
from tests.integration.services.zoo.keeper import Zoo, running_zoo

pytestmark = pytest.mark.services

FAULTS = {**ENDS, **QUICK, **GREED}


@pytest.fixture(scope="module")
def zoo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Zoo]:
    names = {**FAULTS, **HANGS, **LEFT_BEHIND}
    with running_zoo(tmp_path_factory.mktemp("processes"), names) as zoo:
        yield zoo


@pytest.mark.parametrize("name", FAULTS)
def test_a_file_that_fails_has_its_error(zoo: Zoo, name: str) -> None:
    zoo.provoke(name, FAULTS[name])


@pytest.mark.parametrize("name", HANGS)
def test_a_file_that_hangs_delays_no_edit_of_others(zoo: Zoo, name: str) -> None:
    zoo.provoke(name, HANGS[name], slow=True)


@pytest.mark.parametrize("name", LEFT_BEHIND)
def test_nothing_is_left_of_what_a_file_starts(zoo: Zoo, name: str) -> None:
    zoo.tolerate(name, LEFT_BEHIND[name])
