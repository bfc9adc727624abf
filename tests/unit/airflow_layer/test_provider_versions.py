"""Which provider packages sources name, with their installed versions."""

from pathlib import Path

import pytest

from headway.airflow_layer.provider_versions import provider_versions

INSTALLED = {"http": "6.3.0", "amazon": "9.39.0", "common-sql": "2.4.0", "postgres": "7.1.1"}


@pytest.fixture(autouse=True)
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, version in INSTALLED.items():
        package = f"apache-airflow-providers-{name}"
        folder = tmp_path / f"{package.replace('-', '_')}-{version}.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Name: {package}\nVersion: {version}\n")
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("from airflow.providers.http.operators.http import HttpOperator", ["http"]),
        ("import airflow.providers.common.sql.hooks.sql as sql", ["common-sql"]),
        ("def f():\n    from airflow.providers.amazon.aws.hooks.s3 import S3Hook", ["amazon"]),
        ("from airflow.hooks.postgres_hook import PostgresHook", ["postgres"]),
        ("from airflow.operators.postgres_operator import PostgresOperator", ["common-sql"]),
        ("from airflow.providers.slack.hooks.slack import SlackHook", []),
        ("from airflow.operators.bash import BashOperator", []),
        ("x = 'myairflow.providers.http'", []),
    ],
)
def test_a_source_names_packages(source: str, names: list[str]) -> None:
    expected = {f"apache-airflow-providers-{name}": INSTALLED[name] for name in names}

    assert provider_versions({"a.py": source.encode()}) == expected
    assert provider_versions({"a.txt": source.encode()}) == {}


def test_all_files_of_a_version_count() -> None:
    found = provider_versions(
        {
            "a.py": b"from airflow.providers.http.hooks.http import HttpHook",
            "lib/b.py": b"from airflow.providers.amazon.aws.hooks.s3 import S3Hook",
        }
    )

    assert list(found) == ["apache-airflow-providers-amazon", "apache-airflow-providers-http"]
