"""What becomes of the DAG files of a folder, for `headway import-check`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from headway.airflow_layer.differences import CHOICES, differences
from headway.domain.dag.cron_semantics import CronSemantics
from headway.runtime.settings.parser import ParserSettings
from headway.runtime.settings.secret_keys import provided_here
from headway.sdk.running.file_secrets import FileSecrets, SecretSource
from headway.sdk.running.provided_secrets import ProvidedSource
from headway.sdk.running.stand_ins import TEXT, StandIns
from headway_parser.discover.listing import Lister
from headway_parser.parse.answer import check_answer
from headway_parser.single_parse import ParseLimits, SilentParseError, parse_apart


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedFile:
    """What a parser makes of one DAG file.

    `error` is None if it loads; then `warnings` say what is ignored, and `differences` what may
    be otherwise than in Airflow, or with the values that the check did not have.  `line` is
    where the error comes from, and `gap` what of Airflow Headway does not have, if it is that.
    """

    path: str
    dag_ids: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    differences: tuple[str, ...] = ()
    error: str | None = None
    line: int | None = None
    gap: str | None = None


def check_folder(
    root: Path, given: ParserSettings, source: SecretSource | None = None
) -> Iterator[CheckedFile]:
    """Parse every DAG file of a folder, each in a process of its own, within a parser's limits.

    Cron strings mean what the bundle's settings say, if the folder lies in one.  Files read
    connections and variables from `source`, by default from the environment; what is not there,
    and has no default, is stood in for, so that a file is looked at to its end.
    """
    source = ProvidedSource(provided_here()) if source is None else source
    semantics = given.semantics_at(root)
    for path in Lister(safe_mode=given.safe_mode).list(root).paths:
        yield _check(root, path, semantics, given, source)


def _check(
    root: Path,
    path: str,
    semantics: CronSemantics | None,
    given: ParserSettings,
    source: SecretSource,
) -> CheckedFile:
    try:
        answer = parse_apart(
            root,
            path,
            semantics,
            secrets=FileSecrets(source, stand_ins=StandIns()),
            airflow_layer=given.airflow_layer,
            limits=ParseLimits(given.dag_file_processor_timeout, given.dag_file_memory_limit_bytes),
        )
    except SilentParseError as silence:
        return CheckedFile(path=path, error=str(silence))
    parsed = check_answer(path, answer)
    if parsed.changed:
        return CheckedFile(path=path, error="The file was written while it was read.")
    stood_in = stand_ins_for(answer.get("stood_in"))
    if parsed.error is not None:
        return CheckedFile(
            path=path,
            differences=tuple(stood_in),
            error=parsed.error,
            line=answer.get("line"),
            gap=answer.get("gap"),
        )
    told = [*reading_of(answer.get("secrets")), *stood_in, *_differences(root / path)]
    return CheckedFile(
        path=path,
        dag_ids=tuple(sorted(version.spec.dag_id for version in parsed.versions)),
        warnings=tuple(note for note in parsed.notes if note not in CHOICES),
        differences=(*(note for note in parsed.notes if note in CHOICES), *told),
    )


def stand_ins_for(names: object) -> list[str]:
    """Return what an author should know of a file for which something stood in for these."""
    read = _read(names)
    if not read:
        return []
    options = " and ".join(f"--{kind}s FILE" for kind in dict.fromkeys(kind for kind, _ in read))
    said = (
        f"This check has no value for {_shown(read)}. It gave the file {TEXT!r} instead, or an "
        f"object that has every key. Check again with {options}, as Airflow exports them: other "
        "values can make other DAGs, or an error."
    )
    return [said]


def reading_of(names: object) -> list[str]:
    """Return what an author should know of a file that has read these connections and variables."""
    read = _read(names)
    if not read:
        return []
    kind, first = read[0]
    said = (
        f"The file reads {_shown(read)} while it is parsed. A parser gives it what the bundle is "
        f"granted, by `headway {kind}s grant {first} --bundle NAME`, and only where the settings "
        "of the bundle say parse_time_secrets = true. Otherwise the file is refused, also where it "
        "gives a default."
    )
    return [said]


def _read(names: object) -> list[tuple[str, str]]:
    """Return the kinds and the names in a child's answer."""
    if not isinstance(names, list):
        return []
    return [(kind, name) for kind, _, name in (str(each).partition(":") for each in names)]


def _shown(read: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"the {kind} {name}" for kind, name in read)


def _differences(file: Path) -> list[str]:
    if file.suffix != ".py":
        return []
    source = file.read_bytes()
    return differences(source) if b"airflow" in source else []
