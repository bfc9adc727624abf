"""No statement takes an advisory lock: any role could take it first, and keep it."""

from pathlib import Path

import pytest

import headway

HERE = Path(headway.__file__).parents[2]


@pytest.mark.regression
def test_no_statement_takes_an_advisory_lock() -> None:
    sources = [*HERE.glob("shared/**/*.py"), *HERE.glob("services/**/*.py")]

    assert len(sources) > 500
    assert [path for path in sources if "_advisory_" in path.read_text()] == []
