"""Add the notifiers of a bundle to each DAG that a file of it defines."""

from dataclasses import replace

from headway.db.parsing.versions import NewVersion
from headway.domain.dag.notifiers import NotifierSpec
from headway.serialization import codec
from headway_parser.parse.answer import ParsedFile
from headway_parser.publish.stored_parse import StoredParse


def notifying(parse: StoredParse, notifiers: tuple[NotifierSpec, ...]) -> StoredParse:
    """Return the parse with versions that have these notifiers besides their own."""
    if not notifiers:
        return parse
    first = None if parse.first is None else _of_file(parse.first, notifiers)
    return replace(parse, result=_of_file(parse.result, notifiers), first=first)


def _of_file(found: ParsedFile, notifiers: tuple[NotifierSpec, ...]) -> ParsedFile:
    return replace(
        found, versions=tuple(_of_version(version, notifiers) for version in found.versions)
    )


def _of_version(version: NewVersion, notifiers: tuple[NotifierSpec, ...]) -> NewVersion:
    spec = version.spec.notifying(notifiers)
    data = codec.encode(spec)
    fingerprint = codec.fingerprint(data, version.manifest_hash)
    return replace(version, spec=spec, serialized=data, fingerprint=fingerprint)
