"""Import a DAG file and find the DAGs that it makes."""

import importlib
import sys
from collections.abc import Iterator
from importlib.abc import SourceLoader
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import module_from_spec
from pathlib import Path, PurePath
from types import CodeType

from headway.domain.dag.cron_semantics import CronSemantics
from headway.domain.errors import DagError
from headway.sdk.authoring.current import DagFile, collect
from headway.sdk.authoring.definition import DAG
from headway.sdk.bundle.bundle_code import BundleCode
from headway.sdk.bundle.bundle_imports import BundleModule
from headway.sdk.bundle.packages import SUFFIX, dag_modules
from headway.sdk.running.file_secrets import FileSecrets
from headway.sdk.running.tracebacks import module_name


class SourceOnly(SourceFileLoader):
    """Read the source each time: cached bytecode goes by second and size, and misses edits."""

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002
        """Compile the module from its file."""
        return self.source_to_code(self.get_data(self.path), self.path)


def load_dag_file(
    path: Path,
    bundle_root: Path,
    code: BundleCode | None = None,
    cron_semantics: CronSemantics | None = None,
    secrets: FileSecrets | None = None,
) -> list[DAG]:
    """Import the file as a module of its own; return the DAGs that it makes.

    With `code` it is that of a version, and nothing need be on disk.  `cron_semantics` is for
    those of its DAGs that do not say theirs.  `secrets` is what the file may read of connections
    and variables meanwhile; without them it may read none.

    The file's folder and the bundle's root come first on `sys.path`, and stay there,
    because tasks may import more when they run.  Of a `.zip` file the modules at its root
    that look like DAG files are imported, and it comes before these on `sys.path`.
    Errors of the user's code go through.
    """
    path, bundle_root = path.absolute(), bundle_root.absolute()
    if code is None and not path.is_file():
        raise DagError(f"There is no DAG file {path}.")
    try:
        relative = path.relative_to(bundle_root)
    except ValueError:
        raise DagError(f"The DAG file {path} is not below the folder {bundle_root}.") from None
    _put_first_on_path(bundle_root)
    _put_first_on_path(path.parent)
    dags: list[DAG] = []
    for name, loader in _modules(path, relative, code):
        file = DagFile(name, path, bundle_root, dags, code, cron_semantics, secrets)
        with collect(file):
            _import(file, loader)
    _check_unique(path, dags)
    return dags


def _modules(
    path: Path, relative: PurePath, code: BundleCode | None
) -> Iterator[tuple[str, SourceLoader]]:
    """Yield the name of each module of the file, and what imports it."""
    if path.suffix.lower() != SUFFIX:
        name = module_name(relative)
        yield name, BundleModule(code, name, str(relative)) if code else SourceOnly(name, str(path))
        return
    modules = dag_modules(path, code.read(str(relative)) if code else path.read_bytes())
    _put_first_on_path(path)
    importlib.invalidate_caches()  # Python remembers what was in a package
    for module in modules:
        yield module_name(relative / module.entry), module


def _import(file: DagFile, loader: SourceLoader) -> None:
    place = loader.get_filename(file.module_name)
    spec = ModuleSpec(file.module_name, loader, origin=place)
    if loader.is_package(file.module_name):
        spec.submodule_search_locations = [str(Path(place).parent)]
    module = module_from_spec(spec)
    module.__file__ = place
    sys.modules[file.module_name] = module
    try:
        loader.exec_module(module)
    except SystemExit as error:
        del sys.modules[file.module_name]
        raise DagError(
            f"{Path(place).name} calls sys.exit({error.code!r}) while it is imported; "
            "a DAG file must only define DAGs."
        ) from None
    except BaseException:
        del sys.modules[file.module_name]
        raise


def _put_first_on_path(folder: Path) -> None:
    if str(folder) in sys.path:
        sys.path.remove(str(folder))
    sys.path.insert(0, str(folder))


def _check_unique(path: Path, dags: list[DAG]) -> None:
    seen: set[str] = set()
    for dag in dags:
        if dag.dag_id in seen:
            times = sum(other.dag_id == dag.dag_id for other in dags)
            raise DagError(f"{path.name} makes {times} DAGs with the id {dag.dag_id!r}; rename.")
        seen.add(dag.dag_id)
