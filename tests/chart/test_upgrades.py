"""An upgrade changes no field that Kubernetes lets nobody change."""

import re
import shutil
from copy import deepcopy
from pathlib import Path

import pytest
import yaml
from tests.chart.checks.immutable import FIXED, changes
from tests.chart.rendering import CHART, SETS, of_kind, render, rendered

UPGRADES = {
    "image": {"image": {"tag": "9.9.9"}, "sparkImage": {"tag": "9.9.9"}},
    "migration": {"migration": {"resources": {"limits": {"memory": "1Gi"}}, "backoffLimit": 1}},
    "database": {"database": {"owner": "somebody"}, "http": {"port": 9999}, "uid": 4242},
    "services": {
        "scheduler": {"replicas": 5, "podLabels": {"new": "label"}},
        "postgres": {"image": {"tag": "17"}},
        "pgbouncer": {"replicas": 3},
    },
}


@pytest.mark.parametrize("upgrade", UPGRADES)
@pytest.mark.parametrize("name", ["least", "trial", "everything"])
def test_other_values_change_nothing_that_is_fixed(name: str, upgrade: str, tmp_path: Path) -> None:
    values = tmp_path / "values.yaml"
    values.write_text(yaml.safe_dump(UPGRADES[upgrade]))

    assert changes(rendered(name), render(SETS[name], values)) == []


@pytest.mark.parametrize("name", SETS)
def test_a_later_release_changes_nothing_that_is_fixed(name: str, tmp_path: Path) -> None:
    later = tmp_path / "headway"
    shutil.copytree(CHART, later)
    about = (later / "Chart.yaml").read_text()
    (later / "Chart.yaml").write_text(
        re.sub("ersion: 0.1.0", "ersion: 0.2.0", about).replace('"00', '"01')
    )

    after = render(SETS[name], chart=later)

    assert changes(rendered(name), after) == []
    [before_job], [after_job] = (
        list(of_kind(objects, "Job")) for objects in (rendered(name), after)
    )
    assert before_job["metadata"]["name"] != after_job["metadata"]["name"]


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "Job", "RoleBinding"])
def test_a_change_of_what_is_fixed_is_found(kind: str) -> None:
    objects = [*rendered("trial"), *rendered("spark-on-kubernetes")]
    before = next(of_kind(objects, kind))
    after = deepcopy(dict(before))
    path = FIXED[kind][0]
    place = after
    for name in path.split(".")[:-1]:
        place = place[name]
    place[path.split(".")[-1]] = {"another": "value"}

    assert changes([before], [after]) == [
        f"{kind} {before['metadata']['name']}: {path} may not change"
    ]


def test_data_of_a_secret_is_fixed_only_if_it_says_so() -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}, "data": {"a": "b"}}
    fixed = {**secret, "immutable": True}

    assert changes([secret], [{**secret, "data": {}}]) == []
    assert changes([fixed], [{**fixed, "data": {}}]) == ["Secret x: data may not change"]


@pytest.mark.parametrize(
    ("is_shared", "strategy"), [("true", "RollingUpdate"), ("false", "Recreate")]
)
def test_a_scheduler_that_is_to_be_alone_ends_before_the_next_one_starts(
    tmp_path: Path, is_shared: str, strategy: str
) -> None:
    """The next one would refuse to run beside it, and the rollout would wait for that for ever."""
    values = tmp_path / "values.yaml"
    settings = f"settings: {{use_row_level_locking: {is_shared}}}"
    values.write_text(f"scheduler: {{replicas: 1, {settings}}}")

    objects = render(SETS["least"], values)

    found = {
        manifest["metadata"]["labels"]["app.kubernetes.io/component"]: manifest["spec"]["strategy"][
            "type"
        ]
        for manifest in of_kind(objects, "Deployment")
    }
    assert found == {"scheduler": strategy, "parser": "RollingUpdate", "worker": "RollingUpdate"}
