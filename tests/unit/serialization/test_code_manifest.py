from hashlib import sha256

from hypothesis import given
from hypothesis import strategies as st

from headway.serialization.manifest import content_hash, manifest_hash

FILES = st.dictionaries(st.text(max_size=6), st.text("0123", max_size=4), max_size=4)


def test_content_is_known_by_its_sha256() -> None:
    assert content_hash(b"DAG") == sha256(b"DAG").hexdigest()


@given(FILES)
def test_the_order_of_files_leaves_no_trace(files: dict[str, str]) -> None:
    assert manifest_hash(dict(reversed(files.items()))) == manifest_hash(files)


@given(FILES, FILES)
def test_other_files_make_another_manifest(one: dict[str, str], other: dict[str, str]) -> None:
    assert (manifest_hash(one) == manifest_hash(other)) is (one == other)


def test_a_path_and_its_content_cannot_run_into_each_other() -> None:
    assert manifest_hash({"ab": "c"}) != manifest_hash({"a": "bc"})
    assert manifest_hash({"a": "b", "c": "d"}) != manifest_hash({"a": "d", "c": "b"})
