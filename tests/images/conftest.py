"""Images of this checkout, built once, and the podman that runs them."""

import pytest

from headway.testing.containers.images import built_images
from headway.testing.containers.podman import Podman

TARGETS = ("headway", "headway-spark")


@pytest.fixture(scope="session")
def podman() -> Podman:
    return Podman.here()


@pytest.fixture(scope="session")
def headway(podman: Podman) -> str:
    """The name of the image of all services."""
    return built_images(podman, "headway")[0]


@pytest.fixture(scope="session")
def headway_spark(podman: Podman) -> str:
    """The name of the image that has Spark besides."""
    return built_images(podman, "headway-spark")[0]


@pytest.fixture(scope="session", params=TARGETS)
def image(request: pytest.FixtureRequest) -> str:
    """The name of each image in turn."""
    return str(request.getfixturevalue(request.param.replace("-", "_")))
