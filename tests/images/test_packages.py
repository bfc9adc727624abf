"""An image with packages of one's own, upon one of Headway's."""

import pytest

from headway.testing.containers.images import image_with_packages
from headway.testing.containers.podman import ISOLATED, Podman

VERSIONS = "from importlib.metadata import version; import cronsim; print(version('cronsim'))"
TYPER = "import typer; print(typer.__version__, typer.__file__)"


def test_packages_are_added_and_none_is_replaced(podman: Podman, headway: str) -> None:
    wanted = "cronsim==2.6\ntyper>=0.10\n"

    mine = image_with_packages(podman, "mine", headway, wanted)

    def python(image: str, program: str) -> str:
        return podman.run([*ISOLATED, "--entrypoint=python"], image, "-c", program).strip()

    assert python(mine, VERSIONS) == "2.6"
    assert python(mine, TYPER) == python(headway, TYPER)
    assert podman.inspect(mine)["Config"]["User"] == "10001:10001"
    assert podman.run(ISOLATED, mine, "version") == podman.run(ISOLATED, headway, "version")


def test_a_version_that_headway_does_not_have_is_refused(podman: Podman, headway: str) -> None:
    with pytest.raises(AssertionError, match="conflict"):
        image_with_packages(podman, "mine", headway, "typer==0.10\n")
