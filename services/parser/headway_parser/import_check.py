"""What becomes of the DAG files of a folder, for `headway import-check`."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from headway.airflow_layer.differences import CHOICES, differences
from headway.domain.dag.cron_semantics import CronSemantics
from headway.runtime.settings.parser import ParserSettings
from headway_parser.discover.listing import Lister
from headway_parser.parse.answer import check_answer
from headway_parser.single_parse import SilentParseError, parse_apart


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedFile:
    """What a parser makes of one DAG file.

    `error` is None if it loads; then `warnings` say what is ignored, and `differences` what may
    be otherwise than in Airflow.  `line` is where the error comes from, and `gap` what of Airflow
    Headway does not have, if it is that.
    """

    path: str
    dag_ids: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    differences: tuple[str, ...] = ()
    error: str | None = None
    line: int | None = None
    gap: str | None = None


def check_folder(root: Path, given: ParserSettings) -> Iterator[CheckedFile]:
    """Parse every DAG file of a folder, each in a process of its own, within a parser's limits.

    Cron strings mean what the bundle's settings say, if the folder lies in one.
    """
    semantics = given.semantics_at(root)
    for path in Lister(safe_mode=given.safe_mode).list(root).paths:
        yield _check(root, path, semantics, given)


def _check(
    root: Path, path: str, semantics: CronSemantics | None, given: ParserSettings
) -> CheckedFile:
    try:
        answer = parse_apart(
            root,
            path,
            semantics,
            airflow_layer=given.airflow_layer,
            seconds=given.dag_file_processor_timeout,
            memory_bytes=given.dag_file_memory_limit_bytes,
        )
    except SilentParseError as silence:
        return CheckedFile(path=path, error=str(silence))
    parsed = check_answer(path, answer)
    if parsed.changed:
        return CheckedFile(path=path, error="The file was written while it was read.")
    if parsed.error is not None:
        return CheckedFile(
            path=path, error=parsed.error, line=answer.get("line"), gap=answer.get("gap")
        )
    told = [note for note in parsed.notes if note in CHOICES]
    told += reading_of(answer.get("secrets"))
    return CheckedFile(
        path=path,
        dag_ids=tuple(sorted(version.spec.dag_id for version in parsed.versions)),
        warnings=tuple(note for note in parsed.notes if note not in CHOICES),
        differences=(*told, *_differences(root / path)),
    )


def reading_of(names: object) -> list[str]:
    """Return what an author should know of a file that has read these connections and variables."""
    read = [str(name).partition(":") for name in names] if isinstance(names, list) else []
    if not read:
        return []
    shown = ", ".join(f"the {kind} {name}" for kind, _, name in read)
    kind, _, first = read[0]
    said = (
        f"The file reads {shown} while it is parsed. A parser gives it what the bundle is granted, "
        f"by `headway {kind}s grant {first} --bundle NAME`, and only where the settings of the "
        "bundle say parse_time_secrets = true. Otherwise the file is refused, also where it gives "
        "a default."
    )
    return [said]


def _differences(file: Path) -> list[str]:
    if file.suffix != ".py":
        return []
    source = file.read_bytes()
    return differences(source) if b"airflow" in source else []
