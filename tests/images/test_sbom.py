"""The bill of materials of an image: valid by CycloneDX's own schema, and complete."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from headway import __version__
from headway.testing.containers.images import bill_of_materials
from headway.testing.containers.podman import Podman

ROOT = Path(__file__).parents[2]
VALIDATOR = "cyclonedx-python-lib[json-validation]==11.12.0"
VALIDATE = """
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
wrong = JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(sys.argv[1]).read())
sys.exit(str(wrong) if wrong else 0)
"""


@pytest.fixture(scope="module")
def validator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the validator, which is no dependency of anything else here."""
    folder = tmp_path_factory.mktemp("validator")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder), VALIDATOR]
    subprocess.run(pip, check=True)
    return folder


def check(validator: Path, bill: Path) -> str:
    """What the validator has against a bill; empty if nothing."""
    command = [sys.executable, "-c", VALIDATE, str(bill)]
    environment = {"PYTHONPATH": str(validator)}
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False
    ).stderr


def purls(bill: Path, kind: str) -> set[str]:
    content: dict[str, Any] = json.loads(bill.read_text())
    found = {component.get("purl", "") for component in content["components"]}
    return {purl.removeprefix(f"pkg:{kind}/") for purl in found if purl.startswith(f"pkg:{kind}/")}


def test_it_is_valid(podman: Podman, image: str, validator: Path, tmp_path: Path) -> None:
    bill = bill_of_materials(podman, image)
    broken = tmp_path / "broken.json"
    broken.write_text(bill.read_text().replace('"library"', '"librarian"', 1))

    assert check(validator, bill) == ""
    assert "librarian" in check(validator, broken)


def test_it_names_all_packages_of_the_image(podman: Podman, image: str) -> None:
    bill = bill_of_materials(podman, image)

    locked = (ROOT / "deploy/requirements.txt").read_text()
    wanted = {name.lower().replace("_", "-") for name in re.findall(r"^(\S+)==", locked, re.M)}
    installed = podman.run(
        ["--network=none", "--entrypoint=dpkg-query"], image, "-W", "-f", "${Package}\n"
    ).split()
    assert {purl.partition("@")[0] for purl in purls(bill, "pypi")} >= {*wanted, "headway"}
    debian = {purl.removeprefix("debian/").partition("@")[0] for purl in purls(bill, "deb")}
    assert {name.replace("%2B", "+") for name in debian} == set(installed)


def test_it_says_what_it_is_of_and_what_needs_what(podman: Podman, headway: str) -> None:
    content = json.loads(bill_of_materials(podman, headway).read_text())

    image = content["metadata"]["component"]
    label = podman.inspect(headway)["Labels"]["org.opencontainers.image.created"]
    needs = {dependency["ref"]: dependency["dependsOn"] for dependency in content["dependencies"]}
    pydantic = next(
        component for component in content["components"] if component["name"] == "pydantic"
    )
    assert (image["name"], image["version"]) == ("headway", __version__)
    assert content["metadata"]["timestamp"] == label
    assert len(needs[image["bom-ref"]]) == len(content["components"])
    assert pydantic["bom-ref"] in needs[f"pkg:pypi/headway@{__version__}"]
    assert pydantic["licenses"] == [{"expression": "MIT"}]


def test_it_names_the_libraries_inside_of_spark(podman: Podman, headway_spark: str) -> None:
    libraries = purls(bill_of_materials(podman, headway_spark), "maven")

    assert any(library.startswith("org.apache.logging.log4j/log4j-core@") for library in libraries)
    assert any(library.startswith("org.apache.spark/spark-core_2.13@") for library in libraries)
