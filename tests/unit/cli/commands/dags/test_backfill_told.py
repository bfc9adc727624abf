"""What is said of a backfill that was created."""

import pytest

from headway.actions.backfills.create import CreatedBackfill
from headway.cli.commands.dags.backfill import told


@pytest.mark.parametrize(
    ("counts", "sentence"),
    [
        ((2, 0, 0), "2 runs with version 3."),
        (
            (1, 2, 1),
            "1 run with version 3; 1 earlier run again with its own version; 2 dates left alone.",
        ),
        ((0, 1, 1200), "1,200 earlier runs again with their own versions; 1 date left alone."),
    ],
)
def test_only_what_there_is_is_counted(counts: tuple[int, int, int], sentence: str) -> None:
    said = told("daily", CreatedBackfill(7, *counts, version=3), latest=False)

    assert said == f"Backfill 7 of daily: {sentence}"


def test_with_which_version_earlier_runs_run_again_is_said() -> None:
    said = told("daily", CreatedBackfill(7, 1, 0, 2, version=3), latest=True)

    assert said.endswith("1 run with version 3; 2 earlier runs again with version 3.")
