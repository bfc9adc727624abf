"""Which provider packages the code of a DAG names, and which versions of them are installed."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from headway.airflow_layer.gaps import package_of, version_of
from headway.airflow_layer.names import moved

_NAMED: Final = re.compile(rb"\bairflow\.(?:providers|hooks|operators|contrib)(?:\.\w+)*")


def provider_versions(contents: Mapping[str, bytes]) -> dict[str, str]:
    """Return the version of each package that Python sources name, as far as it is installed.

    `contents` are the files of a DAG's version by path.  A name in a comment counts as well.
    """
    modules = {
        found.decode()
        for path, content in contents.items()
        if path.endswith(".py") and b"airflow." in content
        for found in _NAMED.findall(content)
    }
    packages = {package_of(home) for module in modules for home in _homes(module)}
    installed = {package: version_of(package) for package in sorted(packages)}
    return {package: version for package, version in installed.items() if version is not None}


def _homes(module: str) -> Iterator[str]:
    """Yield the modules of provider packages that a module is, or that its names come from."""
    if module.startswith("airflow.providers."):
        yield module
    for target in moved.MODULES.get(module, {}).values():
        home = target.partition(":")[0]
        # What has replaced the operators of one database is of another package.
        yield home if home.startswith("airflow.") else "airflow.providers.common.sql"
