"""An archive has every table whose rows go with a run."""

from headway.db.retention import archived
from headway.db.schema import METADATA
from headway.domain.retention import RetainedKind


def test_the_archive_of_a_run_has_all_that_goes_with_it() -> None:
    gone = {"dag_run"}
    for _ in range(5):
        gone |= {
            table.name
            for table in METADATA.tables.values()
            for key in table.foreign_key_constraints
            if key.referred_table.name in gone and key.ondelete == "CASCADE"
        }

    assert set(archived.tables(RetainedKind.RUNS)) == gone
