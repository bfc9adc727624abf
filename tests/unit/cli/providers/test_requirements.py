"""Which provider packages are needed, and what else they require."""

from collections.abc import Sequence

import pytest
from packaging.requirements import Requirement

from headway.cli.providers import installed
from headway.cli.providers.requirements import UNSAID, ProviderRelease, given, resolve
from headway.domain.errors import RefusalError

P = "apache-airflow-providers-"
RELEASES: dict[str, list[tuple[str, tuple[str, ...]]]] = {
    f"{P}http": [
        ("6.3.0", ("apache-airflow>=2.11", f"{P}common-compat>=1.2", "aiohttp>=3; extra == 'a'")),
        ("5.0.0", ("apache-airflow>=2.9", f"{P}common-compat<1.2", "requests<3,>=2.32.0")),
    ],
    f"{P}common-compat": [("1.23.0", ("apache-airflow-core",)), ("1.1.0", ())],
    f"{P}spark": [("6.0", (f"{P}common-compat<1.5", "pyspark-client>=4", f"{P}http[a]"))],
}


def newest(wanted: Sequence[Requirement]) -> dict[str, ProviderRelease]:
    """Return the newest release that each requirement allows."""
    found = {}
    for each in wanted:
        version, requires = next(row for row in RELEASES[each.name] if row[0] in each.specifier)
        found[each.name] = ProviderRelease(version, requires)
    return found


def test_airflow_is_left_out_and_other_providers_come_along() -> None:
    plan = resolve(given([f"{P}http"]), newest)

    assert plan.missing == [f"{P}common-compat==1.23.0", f"{P}http==6.3.0"]
    assert plan.others == tuple(sorted(UNSAID))


def test_a_version_that_was_asked_for_narrows_the_others() -> None:
    plan = resolve(given([f"{P}common_compat", f"{P}http==5.0.0"]), newest)

    assert plan.missing == [f"{P}common-compat==1.1.0", f"{P}http==5.0.0"]
    assert "requests<3,>=2.32.0" in plan.others


def test_a_release_that_another_one_has_taken_the_place_of_requires_nothing_any_more() -> None:
    """The newest http requires a new common-compat, and the one that suits an old one."""
    releases: dict[str, list[tuple[str, tuple[str, ...]]]] = {
        f"{P}http": [
            ("6.3.0", (f"{P}common-compat>=1.2", f"{P}ftp", "aiohttp>=3")),
            ("5.0.0", (f"{P}common-compat<1.2",)),
        ],
        f"{P}common-compat": [("1.23.0", ()), ("1.1.0", ())],
        f"{P}ftp": [("3.0", ())],
        f"{P}old": [("1.0", (f"{P}http<6",))],
    }

    def look_up(wanted: Sequence[Requirement]) -> dict[str, ProviderRelease]:
        rows = {
            each.name: next(row for row in releases[each.name] if row[0] in each.specifier)
            for each in wanted
        }
        return {name: ProviderRelease(*row) for name, row in rows.items()}

    plan = resolve(given([f"{P}http", f"{P}old"]), look_up)

    assert plan.missing == [f"{P}common-compat==1.1.0", f"{P}http==5.0.0", f"{P}old==1.0"]
    assert "aiohttp>=3" not in plan.others


def test_what_an_installed_provider_package_requires_of_another_one_counts_while_it_stays() -> None:
    here = {
        f"{P}old": ProviderRelease("1", (f"{P}http<6", f"{P}nowhere<3"), is_installed=True),
    }

    beside = resolve(given([f"{P}http"]), newest, present=here)
    instead = resolve(
        given([f"{P}http", f"{P}old>=2"]),
        lambda wanted: {
            **newest([each for each in wanted if each.name != f"{P}old"]),
            **{each.name: ProviderRelease("2") for each in wanted if each.name == f"{P}old"},
        },
        present=here,
    )

    assert f"{P}http==5.0.0" in beside.missing
    assert {f"{P}http==6.3.0", f"{P}old==2"} <= set(instead.missing)
    assert f"{P}nowhere" not in beside.providers


def test_an_extra_counts_and_files_of_another_package_are_not_written_over() -> None:
    releases: dict[str, list[tuple[str, tuple[str, ...]]]] = {
        **RELEASES,
        f"{P}common-compat": [("1.3", ())],
    }

    def look_up(wanted: Sequence[Requirement]) -> dict[str, ProviderRelease]:
        return {
            each.name: ProviderRelease(*releases[each.name][0])  # the first is the newest
            for each in wanted
        }

    plan = resolve(given([f"{P}spark"]), look_up, {"pyspark"})

    assert "aiohttp>=3" in plan.others
    assert not [other for other in plan.others if "pyspark" in other]
    assert "pyspark-client>=4" in resolve(given([f"{P}spark"]), look_up).others


def test_what_is_installed_is_not_missing() -> None:
    plan = resolve(
        given([f"{P}http"]), lambda _: {f"{P}http": ProviderRelease("1", is_installed=True)}
    )

    assert plan.missing == []


def test_releases_that_never_agree_are_refused() -> None:
    with pytest.raises(RefusalError, match="do not agree"):
        resolve(given([f"{P}http>2"]), lambda _: {f"{P}http": ProviderRelease("1")})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("requests", "'requests' is no provider package"),
        ("not a name", "names no package"),
        (f"{P}http @ https://example.org/x.whl", "not by a URL"),
    ],
)
def test_anything_else_is_refused(text: str, said: str) -> None:
    with pytest.raises(RefusalError, match=said):
        given([text])


def test_what_headway_names_keeps_its_version_and_what_these_need_stays_allowed() -> None:
    pins = installed.pins()

    names = [pin.partition("==")[0] for pin in pins if "==" in pin]
    assert {"sqlalchemy", "pydantic", "jinja2"} <= set(names)
    assert any(pin.startswith("markupsafe>=") for pin in pins)
    assert not any(pin.startswith("headway") for pin in pins)


def test_what_a_provider_package_requires_and_has_binds_others() -> None:
    release = ProviderRelease(
        "1", ("SQLAlchemy[asyncio]>=1.4", "pydantic>=99", "nowhere>=1", "jinja2", "x>1; extra=='a'")
    )

    assert installed.bounds([release]) == ["sqlalchemy>=1.4"]
