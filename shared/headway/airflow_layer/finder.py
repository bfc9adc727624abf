"""The finder that gives `airflow` to this process."""

import sys
from collections.abc import Sequence
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Final

from headway.airflow_layer.notes import note
from headway.runtime.settings.layer_use import LayerUse

AIRFLOW: Final = "airflow"
_BELOW: Final = f"{AIRFLOW}."
_PROVIDERS: Final = f"{AIRFLOW}.providers."


def install(use: LayerUse = LayerUse.AUTO) -> None:
    """Have `import airflow` give Headway's counterparts; by default unless there is an Airflow.

    Whether a real one can be imported is found out when `airflow` is first imported.
    """
    known = next((it for it in sys.meta_path if isinstance(it, LayerFinder)), None)
    if use is LayerUse.NEVER:
        if known is not None:
            sys.meta_path.remove(known)
        return
    if known is None:
        known = LayerFinder()
        sys.meta_path.insert(0, known)
    known.use = use


class LayerLoader(Loader):
    """Make a module of the layer, which has nothing to run."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module."""
        from headway.airflow_layer.modules import LayerModule

        return LayerModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: names come when they are asked for."""


class LayerFinder:
    """Find `airflow` and its modules.

    Folders without an `__init__.py`, as provider packages have them, are no real Airflow: their
    modules are found beside those of the layer.  Of a real one that is not used, modules of
    provider packages alone are found.
    """

    def __init__(self, use: LayerUse = LayerUse.AUTO) -> None:
        self.use = use

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where a module of Airflow comes from; None for any other module."""
        if fullname == AIRFLOW:
            return self._whole(target)
        if fullname.startswith(_BELOW) and _is_of_layer(sys.modules.get(AIRFLOW)):
            return self._below(fullname, path, target)
        return None

    def _whole(self, target: ModuleType | None) -> ModuleSpec:
        """Return `airflow`: the real one where there is one."""
        elsewhere = self._elsewhere(AIRFLOW, None, target, all_files=False)
        if elsewhere is None or elsewhere.origin is None or self.use is LayerUse.ALWAYS:
            return _spec(AIRFLOW, elsewhere)
        note(
            "real airflow",
            "An Airflow is installed here, and this file imports it: what it makes are no DAGs of "
            "Headway's. Install Headway where there is no Airflow, or set "
            "HEADWAY_PARSER_AIRFLOW_LAYER and HEADWAY_WORKER_AIRFLOW_LAYER to always.",
        )
        return elsewhere

    def _below(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None
    ) -> ModuleSpec | None:
        from headway.airflow_layer.gaps import error_of
        from headway.airflow_layer.names.table import has_modules, has_names

        is_known = has_names(fullname) or has_modules(fullname)
        elsewhere = self._elsewhere(fullname, path, target, all_files=not is_known)
        if self.use is LayerUse.ALWAYS and not _is_of_provider(fullname):
            elsewhere = None
        is_installed = elsewhere is not None and elsewhere.origin is not None
        if has_names(fullname, is_installed=is_installed):
            return _spec(fullname, elsewhere)
        if not is_installed and has_modules(fullname):
            return _spec(fullname, elsewhere)
        if elsewhere is None:
            raise error_of(fullname)
        if is_installed and elsewhere.loader and _is_of_provider(fullname):
            from headway.airflow_layer.provider_modules import ProviderLoader

            elsewhere.loader = ProviderLoader(elsewhere.loader)
        return elsewhere

    def _elsewhere(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None,
        *,
        all_files: bool,
    ) -> ModuleSpec | None:
        """Return what the other finders find.

        Unless `all_files`, a task does not ask what its bundle has besides the version's files.
        """
        from headway.sdk.bundle.bundle_imports import Others

        for finder in sys.meta_path:
            if finder is self or (isinstance(finder, Others) and not all_files):
                continue
            find_spec = getattr(finder, "find_spec", None)
            found: ModuleSpec | None = find_spec(fullname, path, target) if find_spec else None
            if found is not None:
                return found
        return None


def _is_of_provider(fullname: str) -> bool:
    return f"{fullname}.".startswith(_PROVIDERS)


def _is_of_layer(module: ModuleType | None) -> bool:
    return module is not None and isinstance(getattr(module, "__loader__", None), LayerLoader)


def _spec(fullname: str, elsewhere: ModuleSpec | None) -> ModuleSpec:
    spec = ModuleSpec(fullname, LayerLoader(), is_package=True)
    folders = None if elsewhere is None else elsewhere.submodule_search_locations
    spec.submodule_search_locations = list(folders or ())
    return spec
