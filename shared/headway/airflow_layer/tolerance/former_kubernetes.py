"""Parts of pods as Airflow 1 and 2 had them: each is the class of Kubernetes' own client by now."""

import re
from collections.abc import Mapping
from importlib import import_module
from typing import Any, TypeAlias

from headway.airflow_layer.gaps import error_of

_Base: TypeAlias = Any


def _models() -> _Base:
    try:
        return import_module("kubernetes.client.models")
    except ModuleNotFoundError:  # the provider package requires it
        raise error_of("airflow.providers.cncf.kubernetes") from None


_K8S: _Base = _models()


class Volume(_K8S.V1Volume):  # type: ignore[misc]
    """A volume; `configs` are its fields by the names of the API: {"hostPath": {"path": "/a"}}."""

    def __init__(self, name: str, configs: Mapping[str, Any]) -> None:
        super().__init__(name=name, **{_snake(field): value for field, value in configs.items()})


class VolumeMount(_K8S.V1VolumeMount):  # type: ignore[misc]
    """Where a container has a volume."""

    def __init__(
        self, name: str, mount_path: str, sub_path: str | None = None, read_only: bool = False
    ) -> None:
        super().__init__(name=name, mount_path=mount_path, sub_path=sub_path, read_only=read_only)


class Port(_K8S.V1ContainerPort):  # type: ignore[misc]
    """A port of a container."""

    def __init__(self, name: str | None = None, container_port: int | None = None) -> None:
        super().__init__(name=name, container_port=container_port)


class PodRuntimeInfoEnv(_K8S.V1EnvVar):  # type: ignore[misc]
    """A variable of the environment with a field of the pod, such as `status.podIP`."""

    def __init__(self, name: str, field_path: str) -> None:
        field = _K8S.V1ObjectFieldSelector(field_path=field_path)
        super().__init__(name=name, value_from=_K8S.V1EnvVarSource(field_ref=field))


class Resources(_K8S.V1ResourceRequirements):  # type: ignore[misc]
    """What a container asks for and may have, such as `request_memory="1Gi"`."""

    def __init__(self, **amounts: Any) -> None:
        requests, limits = _amounts(amounts, "request"), _amounts(amounts, "limit")
        if "gpu" in limits:
            limits["nvidia.com/gpu"] = limits.pop("gpu")
        unknown = amounts.keys() - _RESOURCES
        if unknown:
            raise TypeError(f"Resources() has no argument {min(unknown)!r}.")
        super().__init__(requests=requests or None, limits=limits or None)


_RESOURCES = {
    *("request_memory", "request_cpu", "request_ephemeral_storage"),
    *("limit_memory", "limit_cpu", "limit_gpu", "limit_ephemeral_storage"),
}


def _amounts(given: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """Return the amounts of a kind by the names of the API."""
    begin = f"{kind}_"
    return {
        name.removeprefix(begin).replace("_", "-"): amount
        for name, amount in given.items()
        if name.startswith(begin) and amount is not None
    }


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()
