"""What is in the images, and what is not."""

import json
import re
import subprocess
from pathlib import Path

from headway import __version__
from headway.testing.containers.podman import Podman

ROOT = Path(__file__).parents[2]
REQUIREMENTS = {"headway": "", "headway-spark": "-spark"}
BUILDERS = ("gcc", "cc", "g++", "c++", "ld", "as", "make", "pip", "pip3", "javac", "easy_install")
PLACES = {"/tmp", "/var/tmp", "/var/lib/headway", "/run/lock"}
"""Where anyone may make files; a read-only root leaves those of them that are mounted."""


def in_image(podman: Podman, image: str, script: str, user: str = "0") -> list[str]:
    """Run a shell script in a container of an image; return the lines that it prints."""
    options = ["--network=none", f"--user={user}", "--entrypoint=sh"]
    return podman.run(options, image, "-c", script).splitlines()


def name_of(image: str) -> str:
    return image.rpartition("/")[2].partition(":")[0]


def test_it_says_what_it_is(podman: Podman, image: str) -> None:
    labels = podman.inspect(image)["Labels"]
    revision = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()

    told = {name.rpartition(".")[2]: text for name, text in labels.items() if "opencont" in name}

    assert told["title"] == name_of(image)
    assert told["version"] == __version__
    assert told["revision"].removesuffix("-dirty") == revision
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", told["created"])
    assert told["licenses"] == "Apache-2.0"
    assert told["description"]


def test_it_runs_as_an_account_without_rights(podman: Podman, image: str) -> None:
    found = podman.inspect(image)["Config"]

    assert found["User"] == "10001:10001"  # in numbers, or a kubelet cannot tell that it is not 0
    assert {"HOME=/var/lib/headway", "HEADWAY_HOME=/var/lib/headway/home"} <= set(found["Env"])
    assert not [variable for variable in found["Env"] if variable.startswith("PIP_")]


def test_it_has_the_locked_packages_and_no_others(podman: Podman, image: str) -> None:
    wanted = {f"headway=={__version__}"}
    for suffix in {"", REQUIREMENTS[name_of(image)]}:
        wanted |= set(
            re.findall(r"^\S+==\S+", (ROOT / f"deploy/requirements{suffix}.txt").read_text(), re.M)
        )
    program = (
        "import importlib.metadata as m, json; "
        "print(json.dumps([f'{it.name}=={it.version}' for it in m.distributions()]))"
    )

    (line,) = in_image(podman, image, f'/opt/headway/bin/python -c "{program}"')

    def normalized(lines: set[str]) -> set[str]:
        return {re.sub(r"[-_.]+(?=.*==)", "-", requirement).lower() for requirement in lines}

    assert normalized(set(json.loads(line))) == normalized(wanted)


def test_nothing_in_it_builds_or_installs(podman: Podman, image: str) -> None:
    look = f"for it in {' '.join(BUILDERS)}; do command -v $it || true; done"
    modules = (
        "for it in /usr/bin/python3 python; do $it -c 'import pip' 2> /dev/null && echo $it; done"
    )

    assert in_image(podman, image, look) == []
    assert in_image(podman, image, f"{modules}; true") == []


def test_nothing_is_left_of_the_build(podman: Podman, image: str) -> None:
    places = "/var/lib/apt/lists /var/cache /var/log /tmp /var/tmp /root /run/secrets /layer /dist"
    found = in_image(
        podman, image, f"find {places} -type f 2> /dev/null; ls -d /etc/pip.conf; true"
    )

    assert [path for path in found if Path(path).name not in (".bashrc", ".profile")] == []


def test_no_program_brings_rights(podman: Podman, image: str) -> None:
    assert in_image(podman, image, "find / -xdev -type f -perm /6000") == []
    assert in_image(podman, image, "getcap -r / 2> /dev/null || true") == []


def test_the_account_can_change_no_file_of_it(podman: Podman, image: str) -> None:
    found = in_image(
        podman, image, "find / -xdev -writable ! -type l 2> /dev/null || true", user="10001"
    )

    assert set(found) <= PLACES


def test_bytecode_is_there_and_is_not_compared_with_its_source(podman: Podman, image: str) -> None:
    library = "/opt/headway/lib/python3.11/site-packages"
    flags = f"od -An -tu4 -j4 -N4 {library}/headway/__pycache__/__init__.cpython-311.pyc"
    lacking = f"find {library}/headway {library}/sqlalchemy -name '*.py' | while read -r it; do "
    lacking += (
        'set -- "${it%/*}/__pycache__/$(basename "$it" .py)".*.pyc; [ -e "$1" ] || echo "$it"; done'
    )

    assert in_image(podman, image, flags)[0].strip() == "1"
    assert in_image(podman, image, lacking) == []
