"""The addresses of pages."""

from headway_api.pages.frame import addresses


def test_names_are_quoted_and_their_separators_too() -> None:
    assert addresses.run("a/b", "scheduled__2024-01-01T00:00:00+00:00") == (
        "/dags/a%2Fb/runs/scheduled__2024-01-01T00:00:00+00:00"
    )
    assert addresses.dag("ä?#") == "/dags/%C3%A4%3F%23"


def test_only_an_instance_of_a_mapped_task_has_its_index() -> None:
    assert addresses.task("d", "r", "t") == "/dags/d/runs/r/tasks/t"
    assert addresses.task("d", "r", "t", 0) == "/dags/d/runs/r/tasks/t/0"


def test_a_query_has_what_is_given() -> None:
    assert addresses.dag("d", state="failed", task=None) == "/dags/d?state=failed"
    assert addresses.log("d", "r", "t", -1, 2) == "/dags/d/runs/r/tasks/t/attempts/2/log"
    assert addresses.log("d", "r", "t", 0, 2).endswith("/attempts/2/log?map_index=0")
