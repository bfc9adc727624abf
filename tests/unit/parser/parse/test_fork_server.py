"""What a child is told, and when files are read again."""

import json
from pathlib import Path

import pytest

from headway.db.parsing.files import FileKey
from headway.runtime.settings import configuration
from headway.runtime.settings.layer_use import LayerUse
from headway.runtime.settings.parser import ParserSettings
from headway_parser.assembly import release_of
from headway_parser.parse.fork_server import ParserHost, child_of
from headway_parser.parse.jobs import Job, ParseReason

pytestmark = pytest.mark.usefixtures("no_settings")

AROUND = ParserHost(Path("/home"), (), {})


def given(monkeypatch: pytest.MonkeyPatch, **of_bundle: str) -> ParserSettings:
    bundles = {"a": {"path": "/a", **of_bundle}, "b": {"path": "/b"}}
    monkeypatch.setenv("HEADWAY_PARSER_BUNDLES", json.dumps(bundles))
    return configuration.read(ParserSettings)


def told(settings: ParserSettings, bundle: str, about: str = "cron_semantics") -> object:
    job = Job(
        key=FileKey(bundle, "x.py"),
        root=Path("/r"),
        reason=ParseReason.NEW,
        seen="",
        hashes={},
    )
    return child_of(job, settings, AROUND).argument[about]


def secrets_told(settings: ParserSettings, bundle: str) -> tuple[object, ...]:
    return tuple(told(settings, bundle, each) for each in ("cron_semantics", "bundle", "secrets"))


def test_a_child_is_told_what_its_bundle_says(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = given(monkeypatch, cron_semantics="trigger", parse_time_secrets="true")

    assert secrets_told(settings, "a") == ("trigger", "a", "asked")
    assert secrets_told(settings, "b") == (None, "b", "refused")


def test_a_child_is_told_whether_it_gives_the_names_of_airflow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    releases = []
    for use in LayerUse:
        monkeypatch.setenv("HEADWAY_PARSER_AIRFLOW_LAYER", str(use))
        settings = given(monkeypatch)
        releases.append(release_of(settings))
        assert told(settings, "a", "airflow_layer") == use

    assert len(set(releases)) == len(LayerUse)


def test_files_are_read_again_when_a_bundle_says_something_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chosen = [
        {},
        {"cron_semantics": "interval"},
        {"cron_semantics": "trigger"},
        {"parse_time_secrets": "true"},
    ]

    releases = [release_of(given(monkeypatch, **each)) for each in chosen]

    assert len(set(releases)) == len(chosen)
    assert release_of(given(monkeypatch)) == releases[0]
