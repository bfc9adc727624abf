"""Load DAG files in the process of a test."""

from pathlib import Path, PurePath

from headway.cli.local.trial_code import bundle_root, cron_semantics, dag_files, import_error
from headway.cli.local.trial_code import load_dags as dags_of_file
from headway.domain.errors import DagError, HeadwayError
from headway.sdk.authoring.definition import DAG
from headway.sdk.harness.specification import to_spec


def load_dags(path: str | Path) -> dict[str, DAG]:
    """Return the DAGs of a DAG file, or of all DAG files below a folder, by their ids.

    DagError with the text that a parser would show, if a file or a DAG of it is refused.
    """
    place = Path(path).absolute()
    if not place.exists():
        raise DagError(f"There is no DAG file or folder {place}.")
    root = bundle_root(place)
    semantics = cron_semantics(root)
    found: dict[str, DAG] = {}
    for file in dag_files(place) if place.is_dir() else [place]:
        for dag in dags_of_file(file, root, semantics):
            _check(dag, file.relative_to(root))
            other = found.setdefault(dag.dag_id, dag)
            if other is not dag:
                raise DagError(f"{other.fileloc} and {file} make the DAG {dag.dag_id!r}; rename.")
    return found


def _check(dag: DAG, path: PurePath) -> None:
    try:
        to_spec(dag, path.as_posix())
    except HeadwayError as error:
        raise import_error(path, str(error)) from None
