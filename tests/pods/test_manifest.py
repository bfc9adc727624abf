"""What podman gets of a pod is what Kubernetes would give it."""

import stat
from pathlib import Path
from typing import Any

import pytest
from tests.chart.rendering import pods, rendered
from tests.pods import manifest
from tests.pods.manifest import Place

ADDRESS = "10.0.0.7"
SECRETS = {"login": {"password": "of the role", "other": "unused"}}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path, SECRETS, {"data": tmp_path / "shared"}, {"db.example.org": "10.0.0.1"})


def template(**spec: Any) -> dict[str, Any]:
    """A pod with one container and these fields."""
    container = {"name": "it", "image": "headway", "livenessProbe": {"exec": {}}, "env": []}
    return {"spec": {"containers": [container], **spec}}


def mode(path: Path) -> str:
    """The type and permissions of a file, as `ls` shows them."""
    return stat.filemode(path.stat().st_mode)


def test_a_variable_of_a_secret_has_its_value(place: Place) -> None:
    given = template()
    wanted = {"secretKeyRef": {"name": "login", "key": "password"}}
    given["spec"]["containers"][0]["env"] = [{"name": "PGPASSWORD", "valueFrom": wanted}]

    [container] = manifest.pod("a", ADDRESS, given, place)["spec"]["containers"]

    assert container["env"] == [{"name": "PGPASSWORD", "value": "of the role"}]
    assert "livenessProbe" not in container
    assert "livenessProbe" in given["spec"]["containers"][0]


def test_a_variable_may_be_the_name_or_the_address_of_the_pod(place: Place) -> None:
    given = template()
    given["spec"]["containers"][0]["env"] = [
        {"name": "AT", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        {"name": "AS", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
    ]

    [container] = manifest.pod("a", ADDRESS, given, place)["spec"]["containers"]

    assert container["env"] == [{"name": "AT", "value": ADDRESS}, {"name": "AS", "value": "a"}]


def test_each_pod_has_empty_folders_of_its_own_and_claims_are_shared(place: Place) -> None:
    claim = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    given = template(volumes=[{"name": "tmp", "emptyDir": {}}, claim])

    one, other = (manifest.pod(name, ADDRESS, given, place)["spec"]["volumes"] for name in "ab")

    assert one[0]["hostPath"]["path"] == str(place.folder / "a" / "tmp")
    assert other[0]["hostPath"]["path"] == str(place.folder / "b" / "tmp")
    assert one[1] == other[1]
    assert mode(place.folder / "a" / "tmp") == "drwxrwsrwx"
    assert mode(place.claims["data"]) == "drwxrwsr-x"


def test_a_secret_has_the_files_that_are_chosen(place: Place) -> None:
    secret = {"secretName": "login", "items": [{"key": "password", "path": "file"}]}
    given = template(volumes=[{"name": "login", "secret": {**secret, "defaultMode": 0o400}}])

    manifest.pod("a", ADDRESS, given, place)

    [file] = (place.folder / "a" / "login").iterdir()
    assert (file.name, file.read_text(), mode(file)) == ("file", "of the role", "-r--------")


def test_names_of_services_are_found(place: Place) -> None:
    spec = manifest.pod("a", ADDRESS, template(), place)["spec"]

    assert spec["hostAliases"] == [{"ip": "10.0.0.1", "hostnames": ["db.example.org"]}]


def test_what_is_not_heeded_is_refused(place: Place) -> None:
    with pytest.raises(ValueError, match="know nothing of hostNetwork"):
        manifest.pod("a", ADDRESS, template(hostNetwork=True), place)
    with pytest.raises(ValueError, match="no such volume"):
        manifest.pod("a", ADDRESS, template(volumes=[{"name": "host", "hostPath": {}}]), place)


def test_fields_of_containers_and_probes_are_refused_too(place: Place) -> None:
    strange: list[dict[str, Any]] = [
        {"lifecycle": {}},
        {"livenessProbe": {"initialDelaySeconds": 1}},
    ]
    for more in strange:
        given = template()
        given["spec"]["containers"][0] |= more

        with pytest.raises(ValueError, match="know nothing of"):
            manifest.pod("a", ADDRESS, given, place)


def test_every_field_of_production_is_heeded() -> None:
    found = {
        key for _, pod in pods(rendered("production")) for key in manifest.unheeded(pod["spec"])
    }

    assert found == {"imagePullSecrets", "lifecycle"}, "both are left out of what is played"
