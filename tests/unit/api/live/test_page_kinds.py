"""The kinds of pages that the metrics tell of."""

from types import SimpleNamespace

from headway.metrics.api import OTHER_PAGES, PAGES
from headway_api.live.page_kinds import KINDS, kind_of
from headway_api.native import routes as native_routes
from headway_api.pages import routes as page_routes


def test_every_kind_is_that_of_a_route_and_of_the_metrics() -> None:
    routers = (*page_routes.ROUTERS, *native_routes.ROUTERS)
    paths = {getattr(route, "path_format", "") for each in routers for route in each.routes}

    assert set(KINDS) <= paths
    assert {*KINDS.values(), OTHER_PAGES} == set(PAGES)


def test_a_page_is_of_the_kind_of_its_route_or_another_one() -> None:
    def named(path: str) -> str:
        return kind_of({"route": SimpleNamespace(path_format=path)})

    assert named("/dags/{dag_id}/runs/{run_id}") == "run"
    assert named("/tokens") == kind_of({}) == OTHER_PAGES
