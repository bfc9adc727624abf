"""Bundles in the settings of the parser."""

import json
from pathlib import Path

import pytest

from headway.domain.errors import SettingsError
from headway.runtime.secrets.scrub import masked
from headway.runtime.settings import configuration
from headway.runtime.settings.parser import ParserSettings

pytestmark = pytest.mark.usefixtures("no_settings")


def given(monkeypatch: pytest.MonkeyPatch, bundles: object) -> ParserSettings:
    text = bundles if isinstance(bundles, str) else json.dumps(bundles)
    monkeypatch.setenv("HEADWAY_PARSER_BUNDLES", text)
    return configuration.read(ParserSettings)


def test_without_bundles_there_is_the_one_folder() -> None:
    sources = configuration.read(ParserSettings).sources

    assert {name: source.path for name, source in sources.items()} == {"dags": Path("dags")}


def test_cron_semantics_are_those_of_the_bundle_else_those_of_the_parser(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bundles = {
        "a": {"path": "/a", "cron_semantics": "interval"},
        "b": {"path": "/b"},
        "c": {"git": "https://example.org/c.git"},
    }
    silent = given(monkeypatch, bundles)
    assert {name: its.cron_semantics for name, its in silent.sources.items()} == {
        "a": "interval",
        "b": None,
        "c": None,
    }

    monkeypatch.setenv("HEADWAY_PARSER_CRON_SEMANTICS", "trigger")
    monkeypatch.setenv("HEADWAY_PARSER_DAGS", "/d")
    chosen = given(monkeypatch, bundles)

    assert {name: its.cron_semantics for name, its in chosen.sources.items()} == {
        "dags": "trigger",
        "a": "interval",
        "b": "trigger",
        "c": "trigger",
    }
    assert chosen.semantics_at(Path("/a/x/dag.py")) == "interval"
    assert chosen.semantics_at(Path("/elsewhere/dag.py")) == "trigger"


def test_files_read_no_secrets_unless_their_bundle_or_the_parser_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bundles = {
        "a": {"path": "/a", "parse_time_secrets": True},
        "b": {"path": "/b", "parse_time_secrets": False},
        "c": {"path": "/c"},
    }

    def allowed(chosen: ParserSettings) -> list[str]:
        return [name for name, its in chosen.sources.items() if its.parse_time_secrets]

    silent = given(monkeypatch, bundles)
    assert (allowed(silent), silent.reads_secrets) == (["a"], True)
    assert not given(monkeypatch, {"b": bundles["b"], "c": bundles["c"]}).reads_secrets

    monkeypatch.setenv("HEADWAY_PARSER_PARSE_TIME_SECRETS", "true")
    assert allowed(given(monkeypatch, bundles)) == ["a", "c"]


def test_bundles_in_the_file(tmp_path: Path) -> None:
    (tmp_path / "headway.toml").write_text(
        '[parser.bundles.etl]\ngit = "git@example.org:team/etl.git"\nref = "main"\n'
        'subdir = "dags"\nrefresh_interval = 5\n[parser.bundles.ml]\npath = "/srv/ml"\n'
    )

    sources = configuration.read(ParserSettings).sources

    assert list(sources) == ["etl", "ml"]
    assert sources["ml"].path == Path("/srv/ml")
    etl = sources["etl"]
    assert (etl.git, etl.ref, etl.subdir, etl.refresh_interval) == (
        "git@example.org:team/etl.git",
        "main",
        "dags",
        5,
    )


def test_bundles_in_the_environment_replace_those_of_the_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "headway.toml").write_text('[parser.bundles.ml]\npath = "/srv/ml"\n')

    assert list(given(monkeypatch, {"etl": {"path": "/srv/etl"}}).sources) == ["etl"]


def test_the_folder_counts_beside_bundles_if_it_is_set_as_well(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HEADWAY_PARSER_DAGS", "/srv/dags")

    assert list(given(monkeypatch, {"etl": {"path": "/srv/etl"}}).sources) == ["dags", "etl"]


def test_the_folder_and_a_bundle_may_not_have_one_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWAY_PARSER_DAGS", "/srv/dags")

    with pytest.raises(SettingsError, match=r"^\[parser\] two bundles are called 'dags'.*Rename"):
        given(monkeypatch, {"dags": {"path": "/srv/etl"}})


GIT = "https://example.org/dags.git"


def told_by(**given: object) -> dict[str, object]:
    return {"etl": {"path": "/srv", "notify": [{"connection": "ops", **given}]}}


@pytest.mark.parametrize(
    ("bundles", "message"),
    [
        (told_by(on=["retry"]), "for retries of tasks say task_retry"),
        (told_by(subject="{{ dag_id"), r"\(etl\.notify\.0\): subject is no template: "),
        (told_by(body="{% if %}"), "body is no template: "),
        ({"etl": {}}, r"BUNDLES \(etl\): give a bundle either path"),
        ({"etl": {"path": "/srv", "git": GIT}}, "give a bundle either path"),
        ({"etl": {"path": "/srv", "ref": "main"}}, "ref is for bundles from git"),
        ({"etl": {"git": GIT, "branch": "main"}}, r"BUNDLES \(etl\.branch\): Extra inputs"),
        ({"etl": {"git": GIT, "refresh_interval": 0}}, r"\(etl\.refresh_interval\): .*than 0"),
        ({"../etl": {"path": "/srv"}}, r"'\.\./etl' cannot be the name of a bundle"),
        ({"": {"path": "/srv"}}, "cannot be the name of a bundle"),
        ({"a" * 64: {"path": "/srv"}}, "cannot be the name of a bundle"),
        ("not json", "it is not valid JSON"),
        ('{"a": {"path": "/x"}, "a": {"path": "/y"}}', "a is there twice"),
        ("[1]", "valid dictionary"),
    ],
)
def test_what_makes_no_sense_is_refused(
    monkeypatch: pytest.MonkeyPatch, bundles: object, message: str
) -> None:
    with pytest.raises(SettingsError, match=message) as caught:
        given(monkeypatch, bundles)
    assert "HEADWAY_PARSER_BUNDLES" in str(caught.value)


@pytest.mark.parametrize(
    "url",
    ["--upload-pack=touch /tmp/x", "ext::sh -c id", "fd::17", "-x", "", "dags", "ftp://x/y",
     "https://a b/c", "https://a/\nb"],
)  # fmt: skip
def test_addresses_that_git_could_take_for_something_else(
    monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    with pytest.raises(SettingsError, match="git must be an https, ssh or file URL"):
        given(monkeypatch, {"etl": {"git": url}})


@pytest.mark.parametrize(
    "ref", ["-x", "--all", "", "a..b", "a b", "a:b", "a^", "a~1", "a*", "@{1}", "/a", "a\n"]
)
def test_refs_that_git_could_take_for_something_else(
    monkeypatch: pytest.MonkeyPatch, ref: str
) -> None:
    with pytest.raises(SettingsError, match="is no name of a branch, a tag or a commit"):
        given(monkeypatch, {"etl": {"git": GIT, "ref": ref}})


@pytest.mark.parametrize("subdir", ["/dags", "../dags", "a/../../b", "a\nb"])
def test_a_part_of_a_repository_lies_in_it(monkeypatch: pytest.MonkeyPatch, subdir: str) -> None:
    with pytest.raises(SettingsError, match="subdir must be a folder of the repository"):
        given(monkeypatch, {"etl": {"git": GIT, "subdir": subdir}})


def test_no_password_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "https://robot:geheim@example.org/dags.git"

    assert "geheim" not in repr(given(monkeypatch, {"etl": {"git": secret}}))
    for wrong in ({"git": secret, "path": "/x"}, {"git": secret, "x": 1}, {"git": f"{secret} x"}):
        with pytest.raises(SettingsError) as caught:
            given(monkeypatch, {"etl": wrong})
        assert "geheim" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://u:p@h/x", "https://***@h/x"),
        ("https://token@h/x", "https://***@h/x"),
        ("ssh://git@h/x", "ssh://git@h/x"),
        ("ssh://git:p@h/x", "ssh://***@h/x"),
        ("'https://u:p@ss@h/x' and http://t@h/", "'https://***@h/x' and http://***@h/"),
        ("https://h/a@b:c", "https://h/a@b:c"),
    ],
)
def test_logins_are_masked(text: str, shown: str) -> None:
    assert masked(text) == shown
