import sys

import msgpack
import pytest

from headway.domain.dag.spec import DagSpec, TaskSpec, TimetableSpec
from headway.runtime.forker.records import Exit
from headway.sdk import DAG, TradingDays
from headway.sdk.harness.specification import to_spec
from headway.serialization import codec
from headway.serialization.manifest import MOST_FILES, content_hash
from headway_parser.file_patterns import ABSENT
from headway_parser.parse import answer
from headway_parser.parse.answer import (
    LONGEST_OUTPUT,
    ParsedFile,
    check_answer,
    explain_silence,
    failure,
)

SOURCE = b"# a DAG"
UNUSABLE = "What the file left behind cannot be used: "


def dag(dag_id: str = "d", path: str = "d.py") -> bytes:
    return codec.encode(
        DagSpec(
            dag_id=dag_id,
            relative_path=path,
            timetable=TimetableSpec(name="null"),
            timezone="UTC",
            tasks=(TaskSpec(task_id="t", operator="empty"),),
        )
    )


def error_of(frame: dict[str, object]) -> str:
    parsed = check_answer("d.py", frame)
    assert parsed.error is not None
    assert (parsed.versions, parsed.files, parsed.contents) == ((), {}, {})
    return parsed.error


def test_the_dags_of_a_file_and_the_code_they_were_read_from() -> None:
    frame = {"dags": [dag("one"), dag("two")], "files": {"d.py": SOURCE, "lib/x.py": SOURCE}}

    parsed = check_answer("d.py", frame)

    assert parsed.error is None
    assert [version.spec.dag_id for version in parsed.versions] == ["one", "two"]
    assert parsed.files == dict.fromkeys(["d.py", "lib/x.py"], content_hash(SOURCE))
    assert parsed.contents == {content_hash(SOURCE): SOURCE}
    assert {version.manifest_hash for version in parsed.versions} == {parsed.manifest_hash}


def test_a_timetable_whose_package_is_missing_is_an_error_that_names_its_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "exchange_calendars", None)
    trading = DAG("d", schedule=TradingDays("XNYS"))

    said = error_of({"dags": [codec.encode(to_spec(trading, "d.py"))], "files": {"d.py": SOURCE}})

    assert said.startswith(f"{UNUSABLE}TradingDays needs the package exchange_calendars")
    assert "pip install 'headway[exchanges]' where parsers and schedulers run" in said


def test_a_file_without_dags_is_no_error() -> None:
    assert check_answer("d.py", {"dags": [], "files": {"d.py": SOURCE}}).error is None


def test_a_version_is_another_one_when_the_dag_or_any_of_its_code_is() -> None:
    def fingerprint(dag_bytes: bytes, source: bytes) -> str:
        frame = {"dags": [dag_bytes], "files": {"d.py": SOURCE, "lib.py": source}}
        (version,) = check_answer("d.py", frame).versions
        return version.fingerprint

    prints = [
        fingerprint(dag(), b"1"),
        fingerprint(dag(), b"1"),
        fingerprint(dag(), b"2"),
        fingerprint(dag("other"), b"1"),
    ]

    assert prints[0] == prints[1]
    assert len(set(prints)) == 3


def test_an_error_is_passed_on_without_what_postgres_cannot_store() -> None:
    assert error_of({"error": "no\0good", "dags": [dag()]}) == "no\N{REPLACEMENT CHARACTER}good"


@pytest.mark.parametrize("said", ["", " \n", None, 7, {"a": 1}])
def test_an_error_is_always_a_text_that_says_something(said: object) -> None:
    assert error_of({"error": said}).strip()


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ({}, "it has no DAGs, or no files."),
        ({"dags": []}, "it has no DAGs, or no files."),
        ({"files": {}}, "it has no DAGs, or no files."),
        ({"dags": {}, "files": {}}, "it has no DAGs, or no files."),
        ({"dags": [], "files": []}, "it has no DAGs, or no files."),
        ({"dags": ["text"], "files": {}}, "a DAG in it is no bytes."),
        ({"dags": [b"\xc1"], "files": {}}, "These bytes are no serialized DAG"),
        ({"dags": [dag(), None], "files": {}}, "a DAG in it is no bytes."),
        ({"dags": [], "files": {"d.py": "text"}}, "'d.py' is no file of the bundle."),
        ({"dags": [], "files": {"d.py": None}}, "'d.py' is no file of the bundle."),
        (
            {"dags": [dag("d", "other.py")], "files": {}},
            "its DAG d claims to be of 'other.py'.",
        ),
        (
            {"dags": [msgpack.packb({"format": 99, "dag": {}})], "files": {}},
            "The serialized DAG is of format 99",
        ),
    ],
)
def test_what_is_malformed_is_an_error_of_the_file(frame: dict[str, object], message: str) -> None:
    assert error_of(frame).startswith(UNUSABLE + message)


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "../other.py", "a/../../b.py", "..", "a/..", "", ".", "a\0b.py"]
)
def test_no_file_lies_outside_of_the_bundle(name: str) -> None:
    frame: dict[str, object] = {"dags": [dag()], "files": {"d.py": SOURCE, name: b"x"}}

    assert error_of(frame) == f"{UNUSABLE}{name!r} is no file of the bundle."


@pytest.mark.parametrize(
    ("ended", "timeout", "message"),
    [
        (Exit(signal=9), 2.5, "took more than 2.5 s, and was stopped"),
        (Exit(code=0), None, "ended its process (exit code 0)"),
        (Exit(code=7), None, "ended its process (exit code 7)"),
        (Exit(signal=11), None, "ended its process (signal 11, Segmentation fault)"),
        (Exit(lost="the forker died"), None, "ended its process (the forker died)"),
    ],
)
def test_a_child_that_says_nothing_is_an_error_that_says_how_it_ended(
    ended: Exit, timeout: float | None, message: str
) -> None:
    parsed = explain_silence(ended, timeout, "")

    assert message in (parsed.error or "")
    assert parsed == ParsedFile(error=parsed.error)


def test_what_a_file_printed_last_is_part_of_its_error() -> None:
    parsed = failure("No good.", "x" * 100_000 + "\n\0the end\n")

    assert parsed.error is not None
    assert parsed.error.startswith("No good.\nIt printed:\nxxx")
    assert parsed.error.endswith("x\n\N{REPLACEMENT CHARACTER}the end")
    assert len(parsed.error) < LONGEST_OUTPUT + 100


HASH = content_hash(SOURCE)


@pytest.mark.parametrize(
    "said",
    [
        None,
        3,
        ["d.py"],
        {"": HASH, "..": HASH, "/etc/passwd": HASH, "a/../b": HASH, "a\0b": HASH},
        {"d.py": "no hash", "e.py": HASH[:-1], "f.py": 3, "g.py": HASH.upper()},
    ],
)
def test_of_what_was_read_before_an_error_only_files_of_the_bundle_count(said: object) -> None:
    assert check_answer("d.py", {"error": "no", "read": said}).read == {}


def test_what_was_read_before_an_error_is_known() -> None:
    said = {"d.py": HASH, "lib/none.py": ABSENT}

    assert check_answer("d.py", {"error": "no", "read": said}).read == said


def test_a_result_depends_on_what_was_missing_as_well() -> None:
    frame = {"dags": [], "files": {"d.py": SOURCE}, "missing": ["lib.py", "../x", 3]}

    assert check_answer("d.py", frame).read == {"d.py": HASH, "lib.py": ABSENT}


def test_what_changed_while_it_was_read_has_no_result() -> None:
    parsed = check_answer("d.py", {"changed": "d.py was written", "dags": [dag()]})

    assert parsed == ParsedFile(changed=True)


def test_an_import_error_is_of_bounded_length() -> None:
    assert len(error_of({"error": "x" * 1_000_000})) == 20_000


@pytest.mark.parametrize("name", ["./a.py", "a//b.py", "a/./b.py", "a/", "x" * 1025])
def test_a_name_that_is_not_written_as_it_is_found_is_none(name: str) -> None:
    assert check_answer("d.py", {"error": "no", "read": {name: HASH}}).read == {}


def test_names_are_bounded_together() -> None:
    names = [f"{'x' * 1000}{number}" for number in range(2_000)]

    assert "files of its bundle" in error_of({"dags": [], "files": {}, "missing": names})


@pytest.mark.regression
def test_files_of_a_version_are_bounded() -> None:
    files = {f"{number}.txt": b"" for number in range(MOST_FILES + 1)}

    assert "it has 5,001 files of code; 5,000 is the limit for a version" in error_of(
        {"dags": [], "files": files}
    )
    del files["0.txt"]
    assert check_answer("d.py", {"dags": [], "files": files}).error is None


def test_code_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer, "MOST_BYTES", 9 * 2**20 - 1)
    files = {f"{number}.py": bytes([number]) * 2**20 for number in range(9)}

    assert "9,437,184 bytes of code" in error_of({"dags": [], "files": files})


def test_all_dags_of_a_file_have_one_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = dag("one"), dag("two")
    budget = codec.budget()
    before = budget.containers
    codec.decode(one, budget)
    monkeypatch.setattr(codec, "MOST_CONTAINERS", 2 * (before - budget.containers) - 1)

    assert check_answer("d.py", {"dags": [one], "files": {"d.py": SOURCE}}).error is None
    assert "too many lists and maps" in error_of({"dags": [one, two], "files": {"d.py": SOURCE}})


def test_what_cannot_be_used_is_said_in_few_storable_words() -> None:
    name = "\0" + "x" * 100_000
    said = error_of({"dags": [], "files": {name: b""}})

    assert len(said) <= 20_000
    assert "\0" not in said


def test_modules_that_it_names_are_checked() -> None:
    named = ["acme", "a.b_c.d1", "", "a..b", "a b", "../a", 3, "x" * 2000, "é"]

    parsed = check_answer("d.py", {"dags": [], "files": {}, "imports": named})
    most = check_answer("d.py", {"dags": [], "files": {}, "imports": [f"m{n}" for n in range(999)]})

    assert parsed.imports == {"acme", "a.b_c.d1"}
    assert len(most.imports) == answer.MOST_MODULES


@pytest.mark.parametrize("outdated", [True, False, "yes"])
def test_what_was_preloaded_may_be_unfit(outdated: object) -> None:
    parsed = check_answer("d.py", {"unfit": "x has changed", "outdated": outdated})

    assert parsed.error is not None
    assert "x has changed" in parsed.error
    assert parsed.outdated is (outdated is True)
