"""Put versions in force: store those that are new, and the files of bundles that versions lack."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import NamedTuple, TypeAlias

from sqlalchemy import Connection

from headway.db.parsing import dag_registration, stored_code, versions
from headway.db.parsing.versions import NewVersion
from headway_parser.bundles.bundle_files import BundleFiles
from headway_parser.publish.stored_parse import StoredParse

Found: TypeAlias = Mapping[str, tuple[StoredParse, NewVersion]]
"""DAGs as they were read, by their id."""


class _Stored(NamedTuple):
    """The files of a bundle as they were stored: their manifest, and whether these are all."""

    bundle_hash: str
    complete: bool


def put_in_force(
    conn: Connection, found: Found, kept: Mapping[str, int], of_other_code: Collection[str]
) -> dict[str, str]:
    """Put the versions of DAGs in force but for those `kept`, which are; store what is new.

    A shape that a DAG has had before is that version again.  DAGs that are `of_other_code` go back
    to the newest version of their code.  A version that lacks files of its bundle gets them.
    Return what is said of DAGs whose versions still lack some.
    """
    if not found:
        return {}
    wanted = {dag_id: version for dag_id, (_, version) in found.items() if dag_id not in kept}
    known = _known(conn, wanted, of_other_code)
    in_force = {**kept, **known}
    incomplete = versions.incomplete(conn, in_force.values()) if in_force else ()
    lacking = {
        dag_id: version_id for dag_id, version_id in in_force.items() if version_id in incomplete
    }
    unknown = wanted.keys() - known.keys()
    stored = _add_code(conn, [found[dag_id][0] for dag_id in sorted(unknown | lacking.keys())])
    new = [_with_bundle(wanted[dag_id], found[dag_id][0], stored) for dag_id in sorted(unknown)]
    if new:
        known |= versions.add(conn, new)
    of_lacking = {
        version_id: stored.get(id(found[dag_id][0].bundle))
        for dag_id, version_id in lacking.items()
    }
    bundles = {
        version_id: bundle for version_id, bundle in of_lacking.items() if bundle is not None
    }
    if bundles:
        versions.complete(conn, bundles)
    if known:
        dag_registration.put_in_force(conn, known)
    return {
        dag_id: _said(bundle)
        for dag_id in sorted(unknown | lacking.keys())
        if (bundle := found[dag_id][0].bundle) is not None and bundle.gap
    }


def _known(
    conn: Connection, wanted: Mapping[str, NewVersion], of_other_code: Collection[str]
) -> dict[str, int]:
    if not wanted:
        return {}
    known = versions.find(conn, {dag_id: version.fingerprint for dag_id, version in wanted.items()})
    if of_other_code:
        known |= dag_registration.newest(conn, [wanted[dag_id] for dag_id in of_other_code])
    return known


def _with_bundle(
    version: NewVersion, parse: StoredParse, stored: Mapping[int, _Stored]
) -> NewVersion:
    bundle = stored.get(id(parse.bundle))
    if bundle is None:
        return version
    return replace(version, bundle_hash=bundle.bundle_hash, bundle_complete=bundle.complete)


def _add_code(conn: Connection, parses: Iterable[StoredParse]) -> dict[int, _Stored]:
    """Store the code of these parses, and their bundles' files, which are returned.

    All contents are stored at once: who stores others at this moment does so in the same order.
    What a stored manifest names is stored, and stays while the manifest is held: of a bundle that
    is stored nothing is asked, and of one that has changed only what has.
    """
    of_files = {parse.file: parse for parse in parses}.values()
    if not of_files:
        return {}
    manifests = {parse.result.manifest_hash: parse.result.files for parse in of_files}
    contents = {
        key: content for parse in of_files for key, content in parse.result.contents.items()
    }
    bundles = {id(parse.bundle): parse.bundle for parse in of_files if parse.bundle is not None}
    asked = {
        key
        for bundle_files in bundles.values()
        for key in (bundle_files.manifest_hash, bundle_files.last.manifest_hash)
    }
    unknown = set(stored_code.unknown_manifests(conn, asked - {""}))
    for bundle in bundles.values():
        if bundle.manifest_hash in unknown:
            held = () if bundle.last.manifest_hash in unknown else bundle.last.contents
            files, new = bundle.to_store(partial(_unknown_files, conn, held))
            manifests[bundle.manifest_hash] = files
            contents |= new
        bundle.remember()
    stored_code.add_code(conn, manifests, contents)
    return {
        key: _Stored(bundle_files.manifest_hash, not bundle_files.gap)
        for key, bundle_files in bundles.items()
    }


def _unknown_files(
    conn: Connection, held: Collection[str], hashes: Collection[str]
) -> Collection[str]:
    return stored_code.unknown_files(conn, set(hashes).difference(held))


def _said(bundle: BundleFiles) -> str:
    return (
        f"Tasks may lack files of the bundle. {bundle.gap}. What is missing is added to the "
        "version once the parser has found all files."
    )
