"""Whether objects fit the API of Kubernetes, KEDA's and the Prometheus operator's resources."""

import warnings
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import kubernetes_validate
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from tests.chart.rendering import Object, title

VERSIONS: Final = ("1.30", "1.37")
"""The oldest Kubernetes that the chart takes, and the newest that there are schemas for."""


class _Given(BaseModel):
    model_config = ConfigDict(extra="forbid")


class GatewayName(_Given):
    """A Gateway that a route is for."""

    name: str
    namespace: str | None = None
    sectionName: str | None = None  # noqa: N815 - the API's own name


class RouteBackend(_Given):
    """A Service that a route leads to."""

    name: str
    port: int = Field(ge=1, le=65535)


class RouteRule(_Given):
    """Which Services a route leads to."""

    backendRefs: list[RouteBackend]  # noqa: N815 - the API's own name


class RouteSpec(_Given):
    """What of a route the chart gives."""

    parentRefs: list[GatewayName] = Field(min_length=1)  # noqa: N815 - the API's own name
    hostnames: list[str] = Field(min_length=1)
    rules: list[RouteRule] = Field(min_length=1)


class HTTPRoute(BaseModel):
    """A route of the Gateway API, for which no package has a schema."""

    apiVersion: str  # noqa: N815 - the API's own name
    kind: str
    metadata: dict[str, Any]
    spec: RouteSpec


def invalid(objects: Sequence[Object]) -> list[str]:
    """Return what is wrong with objects, each with the object that it is wrong with."""
    return [f"{title(each)}: {problem}" for each in objects for problem in _problems(each)]


def _problems(found: Object) -> list[str]:
    model = _models().get(f"{found['apiVersion']} {found['kind']}")
    return _of_kubernetes(found) if model is None else _of_model(found, model)


def _of_kubernetes(found: Object) -> list[str]:
    problems = []
    for version in VERSIONS:
        try:
            kubernetes_validate.validate(found, version, strict=True)
        except kubernetes_validate.ValidationError as error:
            problems.append(f"Kubernetes {version}: {error.message} at {list(error.path)}")
        except kubernetes_validate.SchemaNotFoundError as error:
            problems.append(f"Kubernetes {version}: {error}")
    return problems


def _of_model(found: Object, model: type[BaseModel]) -> list[str]:
    """Judge a custom resource; the models pass over what they do not know, so that is compared."""
    try:
        known = model.model_validate(found).model_dump(
            by_alias=True, exclude_unset=True, mode="json"
        )
    except ValidationError as error:
        return [str(error)]
    return [f"{path} is unknown" for path in _missing(found, known, "")]


def _missing(given: Any, known: Any, path: str) -> list[str]:
    if isinstance(given, dict):
        here = [f"{path}.{name}" for name in given if name not in known]
        below = [(name, value) for name, value in given.items() if name in known]
        return here + [
            missing
            for name, value in below
            for missing in _missing(value, known[name], f"{path}.{name}")
        ]
    if isinstance(given, list):
        pairs = zip(given, known, strict=True)
        return [
            missing
            for n, (one, other) in enumerate(pairs)
            for missing in _missing(one, other, f"{path}[{n}]")
        ]
    return []


@cache
def _models() -> dict[str, type[BaseModel]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the packages' own, of fields that shadow others
        from cloudcoil.models.keda import v1alpha1 as keda
        from cloudcoil.models.prometheus_operator import v1 as prometheus
    return {
        "gateway.networking.k8s.io/v1 HTTPRoute": HTTPRoute,
        "keda.sh/v1alpha1 ScaledObject": keda.ScaledObject,
        "keda.sh/v1alpha1 TriggerAuthentication": keda.TriggerAuthentication,
        "monitoring.coreos.com/v1 PodMonitor": prometheus.PodMonitor,
        "monitoring.coreos.com/v1 PrometheusRule": prometheus.PrometheusRule,
    }
