"""What a parser's child process does: read one DAG file, and say what it defines."""

import faulthandler
import sys
from collections.abc import Collection, Mapping
from dataclasses import replace
from itertools import islice
from mmap import mmap
from pathlib import Path
from socket import socket
from traceback import walk_tb
from typing import Final

from headway.airflow_layer import finder, notes
from headway.airflow_layer.gaps import AirflowGapError
from headway.airflow_layer.provider_versions import provider_versions
from headway.domain.dag.cron_semantics import CronSemantics
from headway.domain.errors import HeadwayError
from headway.runtime.processes.frames import Frame, send_frame
from headway.runtime.settings.layer_use import LayerUse
from headway.sdk.bundle.declared_files import declared, is_pattern, matches, refuse_missing
from headway.sdk.bundle.dynamic_imports import MOST_NOTES
from headway.sdk.bundle.packages import SUFFIX
from headway.sdk.bundle.static_imports import Imports
from headway.sdk.harness.loading import load_dag_file
from headway.sdk.harness.specification import to_spec
from headway.sdk.running.file_secrets import FileSecrets
from headway.sdk.running.tracebacks import message_of, traceback_of
from headway.serialization import codec
from headway_parser.child import preloaded
from headway_parser.child.asking import secrets_of
from headway_parser.child.imports import from_source
from headway_parser.child.reading import ChangedError, FilesRead
from headway_parser.child.refusals import Refusals
from headway_parser.file_patterns import names_hash

SPARE: Final = 4 * 2**20
"""Bytes that are given back so as to be able to say that there is no more memory."""


def parse(argument: Mapping[str, object], channel: socket) -> None:
    """Parse the file `path` of the bundle in `root`; answer with one frame.

    `cron_semantics` is what the settings of the bundle say, None for nothing; `secrets` is where
    the file gets connections and variables from (`asking`); `airflow_layer` is when a file that
    imports `airflow` gets Headway's names.
    The answer holds the `dags` as serialized bytes, the `files` that they were read from,
    by content, the names of those that were `missing`, the `secrets` that were read, and what
    of installed packages they import (`imports`); or an `error`, the `line` of the
    DAG file that it comes from, what of Airflow is a `gap` here, and what was `read` until then,
    as hashes by path; or that something has `changed` meanwhile; or why what this process has
    preloaded is `unfit` for the file, and whether it is `outdated`.  In a check, it holds
    for which connections and variables something `stood_in`.
    """
    tell_crashes()
    path = str(argument["path"])
    read, refusals = FilesRead(Path(str(argument["root"]))), Refusals()
    sys.addaudithook(read.hook)
    sys.addaudithook(refusals.hook)
    secrets = secrets_of(argument["secrets"], str(argument["bundle"]), channel)
    spare = mmap(-1, SPARE)  # of addresses, which are what is limited; no page of it is touched
    try:
        layer = LayerUse(str(argument["airflow_layer"]))
        said = argument["cron_semantics"]
        semantics = CronSemantics(str(said)) if said else None
        answer = parsed(read, path, semantics, layer, secrets)
    except preloaded.UnfitError as error:
        answer = {"unfit": str(error), "outdated": error.outdated}
    except ChangedError as error:
        answer = {"changed": str(error)}
    except HeadwayError as error:
        answer = _failed(read, str(error)) | _whence(error, read.root / path)
    except BaseException as error:  # noqa: BLE001 - here one DAG file is isolated
        spare.close()
        answer = _failed(read, "\n".join([_explain(error).rstrip(), *refusals.advice(error)]))
        answer |= _whence(error, read.root / path)
    send_frame(channel, answer | _stood_in(secrets))


def _stood_in(secrets: FileSecrets) -> Frame:
    return {} if secrets.stand_ins is None else {"stood_in": secrets.stand_ins.names}


def tell_crashes() -> None:
    """Have a crash of the interpreter say where, in what this process, or a fork of it, prints."""
    if not faulthandler.is_enabled():
        faulthandler.enable()


def parsed(
    read: FilesRead,
    path: str,
    semantics: CronSemantics | None,
    layer: LayerUse,
    secrets: FileSecrets,
) -> Frame:
    """Return the answer for a file that defines DAGs; what its code raises goes through."""
    root = read.root
    preloaded.begin()
    read.refuse_huge(path)
    from_source(root, read.note)
    finder.install(layer)
    notes.forget()
    dags = load_dag_file(root / path, root, None, semantics, secrets)
    preloaded.check(root)
    specs = [to_spec(dag, path) for dag in dags]
    for file in {path, *(file for spec in specs for file in spec.files)}:
        read.note(str(root / file))
    source = read.content(path)
    patterns, named = _declared(read, path, source)
    told = _follow(read, {path: source} if path.endswith(".py") else {}, path, named)
    contents = read.contents()
    if contents.get(path) == b"":
        raise ChangedError(f"{path} is empty, as of who saves it and has only begun to.")
    sources = [content for name, content in contents.items() if name.endswith(".py")]
    providers, names = provider_versions(contents), secrets.names
    if providers or names:
        specs = [replace(spec, providers=providers, parse_secrets=names) for spec in specs]
    return {
        "dags": [codec.encode(spec) for spec in specs],
        "files": contents,
        "missing": sorted(read.stamps.keys() - contents),
        "patterns": patterns,
        "notes": [*notes.notes(), *told],
        "secrets": list(names),
        "imports": preloaded.installed_imports(root, sources),
    }


def _declared(read: FilesRead, path: str, source: bytes) -> tuple[dict[str, str], set[str]]:
    """Note the files that the DAG file names; return what its patterns depend on, and the files."""
    patterns: dict[str, str] = {}
    named: set[str] = set()
    for pattern in declared(source, path):
        found = matches(read.root, pattern)
        if is_pattern(pattern):
            patterns[f"{pattern}/"] = names_hash(found)
        elif not found:
            read.note(str(read.root / pattern))
            raise refuse_missing(pattern, path)
        for file in found:
            read.note(str(read.root / file))
        named.update(found)
    return patterns, named


def _follow(
    read: FilesRead, known: Mapping[str, bytes], dag_file: str, named: Collection[str]
) -> list[str]:
    """Note the modules that sources import anywhere; return what their author should know."""
    prefix = f"{read.root}/"
    folders = [
        entry.removeprefix(prefix) if entry != str(read.root) else ""
        for entry in sys.path
        if f"{entry}/".startswith(prefix) and not entry.endswith(SUFFIX)
    ]
    imports = Imports(read.root, folders, known)
    for path in [
        path for path, stamp in read.stamps.items() if stamp and path.endswith((".py", SUFFIX))
    ]:
        imports.follow(path)
    for path in imports.paths:
        read.note(str(read.root / path))
    own = {path for path, stamp in read.stamps.items() if stamp is not None}
    unknown = (
        dynamic_import
        for dynamic_import in imports.dynamic
        if not dynamic_import.is_covered(read.root, own, named)
    )
    return [dynamic_import.note(dag_file) for dynamic_import in islice(unknown, MOST_NOTES)]


def _failed(read: FilesRead, error: str) -> Frame:
    try:
        return {"error": error, "read": read.hashes()}
    except ChangedError as changed:
        return {"changed": str(changed)}


def _whence(error: BaseException, file: Path) -> Frame:
    """Return the last line of the DAG file on the way to an error, and what of Airflow it lacks."""
    gap = str(error.gap) if isinstance(error, AirflowGapError) else None
    if isinstance(error, SyntaxError) and error.filename == str(file):
        return {"line": error.lineno, "gap": gap}
    steps = walk_tb(error.__traceback__)
    lines = [line for frame, line in steps if frame.f_code.co_filename == str(file)]
    return {"line": lines[-1] if lines else None, "gap": gap}


def _explain(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return f"The file called sys.exit({error.code!r}) while it was read; DAG files must not."
    return traceback_of(error, __file__) or message_of(error)
