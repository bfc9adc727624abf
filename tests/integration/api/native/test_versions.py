"""What a DAG was: its versions, their graphs, differences and files."""

from dataclasses import replace
from hashlib import sha256

import pytest
from starlette.testclient import TestClient
from tests.integration.api.conftest import Api
from tests.integration.api.native.conftest import V1, Clients, move

from headway.domain.dag.spec import MapInput
from headway.domain.dag.task_groups import EdgeLabel, GroupSpec
from headway.testing.data import seed

ETL = f"{V1}/dags/etl/versions"
PARTS = (
    "",
    "/2",
    "/2/graph",
    "/1/diff/2",
    "/2/files/etl.py",
)


def test_versions_are_listed_the_newest_first_page_by_page(
    two_versions: Api, admin: TestClient
) -> None:
    first = admin.get(ETL, params={"limit": 1}).json()
    second = admin.get(ETL, params={"limit": 1, "cursor": first["next_cursor"]}).json()

    rows = first["rows"] + second["rows"]
    assert [(row["number"], row["in_force"], row["tasks"]) for row in rows] == [
        (2, True, 2),
        (1, False, 1),
    ]
    assert [(row["structure_changed"], row["code_changed"]) for row in rows] == [
        (True, True),
        (None, None),
    ]
    assert second["next_cursor"] is None


def test_a_version_is_shown_as_it_was(two_versions: Api, admin: TestClient) -> None:
    was = admin.get(f"{ETL}/1").json()

    assert was["version"]["number"] == 1
    assert [task["task_id"] for task in was["tasks"]] == ["a"]
    assert was["attributes"]["max_active_tasks"] == 16
    assert was["files"]["old.py"] == sha256(b"gone\n").hexdigest()
    assert admin.get(f"{ETL}/3").json()["detail"] == "DAG etl has no version 3; it has 2, 1."


def test_a_graph_has_layers_and_edges(api: Api, admin: TestClient) -> None:
    tasks = [seed.task("a"), seed.task("b", "a"), seed.task("c", "a", "b"), seed.task("d")]
    seed.store(api.engine, seed.dag(*tasks))

    graph = admin.get(f"{ETL}/1/graph")
    again = admin.get(f"{ETL}/1/graph", headers={"If-None-Match": graph.headers["etag"]})

    layers = {node["task_id"]: node["layer"] for node in graph.json()["nodes"]}
    assert layers == {"a": 0, "b": 1, "c": 2, "d": 0}
    assert {(it["upstream"], it["downstream"]) for it in graph.json()["edges"]} == {
        ("a", "b"),
        ("a", "c"),
        ("b", "c"),
    }
    assert not graph.headers["etag"].startswith("W/")
    assert again.status_code == 304


def test_a_graph_has_groups_labels_and_names(api: Api, admin: TestClient) -> None:
    over = (MapInput(argument="x", length=2),)
    mapped = replace(seed.task("g.h.c"), mapped_over=over, mapped_group="g.h")
    tasks = [seed.task("g.a"), replace(seed.task("b", "g.a"), task_display_name="Last"), mapped]
    outer = GroupSpec(group_id="g", tasks=("g.a",), tooltip="why", display_name="First")
    label = EdgeLabel(upstream="g.a", downstream="b", label="then")
    spec = replace(
        seed.dag(*tasks),
        groups=(outer, GroupSpec(group_id="g.h", parent="g", tasks=("g.h.c",))),
        labels=(label,),
    )
    seed.store(api.engine, spec)

    graph = admin.get(f"{ETL}/1/graph").json()

    assert {it["task_id"]: (it["display_name"], it["group"]) for it in graph["nodes"]} == {
        "g.a": ("g.a", "g"),
        "b": ("Last", None),
        "g.h.c": ("g.h.c", "g.h"),
    }
    assert graph["edges"] == [{"upstream": "g.a", "downstream": "b", "label": "then"}]
    assert graph["groups"] == [
        {
            "group_id": "g",
            "display_name": "First",
            "parent": None,
            "tooltip": "why",
            "mapped": False,
        },
        {
            "group_id": "g.h",
            "display_name": "g.h",
            "parent": "g",
            "tooltip": None,
            "mapped": True,
        },
    ]


def test_a_difference_has_structure_and_files(two_versions: Api, admin: TestClient) -> None:
    found = admin.get(f"{ETL}/1/diff/2").json()

    assert found["structure"]["added"] == ["b"]
    assert found["structure"]["attributes"] == {"max_active_tasks": [16, 3]}
    assert found["structure"]["edges_added"] == [["a", "b"]]
    assert {it["path"]: it["change"] for it in found["files"]} == {
        "etl.py": "changed",
        "old.py": "removed",
    }
    assert found["files"][0]["lines"][-2:] == ["-one", "+two"]


def test_a_version_does_not_differ_from_itself(two_versions: Api, admin: TestClient) -> None:
    found = admin.get(f"{ETL}/2/diff/2").json()

    assert found["files"] == []
    assert not any(found["structure"].values())


def test_a_file_is_sent_as_it_was_with_its_hash_as_its_tag(
    two_versions: Api, admin: TestClient
) -> None:
    key = sha256(b"one\n").hexdigest()
    path = f"{ETL}/1/files/etl.py"

    plain = admin.get(path)
    kept = admin.get(path, params={"hash": key})
    known = admin.get(path, headers={"If-None-Match": f'"other", "{key}"'})
    other = admin.get(path, params={"hash": sha256(b"two\n").hexdigest()})

    assert plain.content == b"one\n"
    assert plain.headers["etag"] == f'"{key}"'
    assert plain.headers["content-length"] == "4"
    assert "immutable" not in plain.headers["cache-control"]
    assert "immutable" in kept.headers["cache-control"]
    assert (known.status_code, known.content) == (304, b"")
    assert other.status_code == 404


def test_a_large_file_is_sent_in_pieces(
    api: Api, admin: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.integration.api.native.conftest import store_code

    from headway_api.native.dags import files

    content = bytes(range(256)) * 10
    store_code(api.engine, seed.dag(), {"etl.py": content})
    monkeypatch.setattr(files, "PIECE", 1_000)

    answer = admin.get(f"{ETL}/1/files/etl.py")

    assert answer.content == content
    assert answer.headers["content-type"] == "application/octet-stream"


@pytest.mark.parametrize(
    "path",
    [
        "none.py",
        "../../etc/passwd",
        "..%2f..%2fetc%2fpasswd",
        "%2e%2e/%2e%2e/etc/passwd",
        "/etc/passwd",
        "%2fetc%2fpasswd",
        "lib/%2e%2e/etl.py",
        "lib//x.py",
        "%2e/etl.py",
        "etl.py%00",
        "",
    ],
)
def test_only_paths_of_the_version_are_files(
    two_versions: Api, admin: TestClient, path: str
) -> None:
    answer = admin.get(f"{ETL}/1/files/{path}")

    assert answer.status_code == 404
    assert b"root:" not in answer.content


@pytest.mark.parametrize("part", PARTS)
def test_versions_of_another_bundle_are_not_there(
    two_versions: Api, clients: Clients, part: str
) -> None:
    known = {"If-None-Match": "*"}

    hidden = clients.limited.get(f"{ETL}{part}", headers=known)
    move(two_versions.engine, "etl", "mine")
    shown = clients.limited.get(f"{ETL}{part}")

    assert hidden.status_code == 404
    assert hidden.json()["detail"] == "There is no DAG 'etl'."
    assert shown.status_code == 200


@pytest.mark.parametrize("part", PARTS)
def test_versions_of_a_dag_that_is_not_there_are_not_found(
    admin: TestClient, api: Api, part: str
) -> None:
    answer = admin.get(f"{ETL}{part}")

    assert answer.status_code == 404
    assert answer.json()["code"] == "dag_not_found"
