"""What the blocks of services may hold."""

from typing import Final

from deploy.helm.json_schema import (
    ANY,
    FILLED,
    NAME,
    NOT_NEGATIVE,
    POSITIVE,
    SCALAR,
    SCALARS,
    TEXT,
    TEXTS,
    TRUTH,
    Schema,
    at,
    fields,
    integer,
    many,
    matching,
    nullable,
    one_of,
    ref,
    requiring,
    when,
)

from headway.runtime.settings.configuration import Settings

GIVEN: Final = {
    "scheduler": {"http_port"},
    "parser": {"http_port", "forker", "bundles", "bundle", "dags"},
    "worker": {
        *("http_port", "forker", "spark_forker", "queues", "slots", "callback_slots"),
        *("lease_duration", "heartbeat_interval", "kill_grace", "drain_grace"),
    },
    "api": {"http_port", "host", "port", "allowed_hosts"},
}
"""Settings that other values of the chart give."""


def settings_of(model: type[Settings]) -> Schema:
    """Return the settings of a service that no other value of the chart gives."""
    names = [name for name in model.model_fields if name not in GIVEN[model.section]]
    return fields(**{name: ANY if name == "spark_conf" else SCALAR for name in names})


def pod() -> dict[str, object]:
    """Return the values that every service has."""
    return {
        **{name: ref(name) for name in ("podDisruptionBudget", "topologySpread")},
        "serviceAccount": fields(name=TEXT, annotations=TEXTS),
        **dict.fromkeys(("nodeSelector", "podAnnotations", "podLabels"), TEXTS),
        "tolerations": many(ANY),
        "affinity": ANY,
        "priorityClassName": TEXT,
        "egress": ref("egress"),
        "env": many(ANY),
        "resources": ref("resources"),
        "preStopSleepSeconds": integer(0),
        "terminationGracePeriodSeconds": integer(1),
    }


def forker() -> Schema:
    """Return the values of a fork server's container; its variables cannot refer to a Secret."""
    variable = requiring(fields(name=NAME, value=TEXT), "name", "value")
    return fields(resources=ref("resources"), env=many(variable))


def api() -> Schema:
    """Return the values of the API."""
    return fields(
        enabled=TRUTH,
        replicas=integer(1),
        settings=ref("apiSettings"),
        port=integer(1024, 65535),
        hosts=many(NAME),
        from_=ref("peers"),
        service=fields(
            type=one_of("ClusterIP", "NodePort", "LoadBalancer"),
            port=integer(1, 65535),
            annotations=TEXTS,
        ),
        ingress=fields(
            enabled=TRUTH,
            **dict.fromkeys(("className", "host", "tlsSecret"), TEXT),
            annotations=TEXTS,
        ),
        gateway=fields(enabled=TRUTH, parentRefs=many(ANY), hostnames=many(NAME)),
        autoscaling=fields(
            kind=one_of("none", "hpa"),
            **dict.fromkeys(("minReplicas", "maxReplicas"), integer(1)),
            hpa=fields(targetCPUUtilizationPercentage=integer(1, 100)),
        ),
        **pod(),
    )


def spark() -> Schema:
    """Return where the Spark of a worker group is; each kind asks for something else."""
    cluster = fields(
        master=matching("^https?://"),
        deployMode=one_of("client", "cluster"),
        driverInPod=TRUTH,
        namespace=TEXT,
        image=TEXT,
        executorUid=integer(1),
        conf=SCALARS,
    )
    whole = fields(
        kind=one_of("none", "embedded", "connect", "standalone", "kubernetes"),
        connection=TEXT,
        connectionSecret=ref("secretKey"),
        network=fields(to=ref("peers"), from_=ref("peers")),
        kubernetes=cluster,
    )
    needs_token = requiring(at("driverInPod", {"const": True}), "driverInPod")
    is_client = at("kubernetes.deployMode", {"const": "client"})
    return whole | {
        "allOf": [
            when(_kind("kubernetes") | {"allOf": [is_client]}, _needing("kubernetes", needs_token)),
            when(
                _kind("kubernetes"),
                _needing("kubernetes", requiring(at("image", FILLED), "image")),
            ),
            when(_kind("connect", in_values=True), _needing("connection", {"pattern": "^sc://"})),
            when(
                _kind("standalone", in_values=True),
                _needing("connection", {"pattern": "^spark://"}),
            ),
        ]
    }


def _kind(kind: str, *, in_values: bool = False) -> Schema:
    """Return what holds of a Spark of that kind, and, if asked, without a Secret for it."""
    found = requiring(at("kind", {"const": kind}), "kind")
    return found | {"not": _in_secret()} if in_values else found


def _in_secret() -> Schema:
    named = requiring(at("name", FILLED), "name")
    return _needing("connectionSecret", named)


def _needing(name: str, schema: Schema) -> Schema:
    return requiring(at(name, schema), name)


def autoscaling() -> Schema:
    """Return what scales a worker group: one of two, or nothing."""
    return fields(
        kind=one_of("none", "keda", "hpa"),
        minReplicas=integer(0),
        maxReplicas=integer(1),
        keda=fields(
            target=nullable(POSITIVE),
            pollingInterval=integer(1),
            cooldownPeriod=integer(0),
            sslmode=one_of("disable", "require", "verify-ca", "verify-full"),
        ),
        hpa=fields(targetCPUUtilizationPercentage=integer(1, 100)),
    )


def worker(**more: object) -> Schema:
    """Return the values of a worker group, or the defaults of all groups."""
    return fields(
        queues=many(matching("^[A-Za-z0-9_.-]+$")),
        **dict.fromkeys(("replicas", "slots", "callbackSlots"), integer(1)),
        imageVariant=one_of("", "plain", "spark"),
        **dict.fromkeys(("leaseDuration", "heartbeatInterval"), POSITIVE),
        **dict.fromkeys(("killGrace", "drainGrace"), NOT_NEGATIVE),
        settings=ref("workerSettings"),
        **dict.fromkeys(("connections", "variables"), ref("secretsById")),
        **dict.fromkeys(("plainResources", "embeddedSparkResources"), ref("resources")),
        dataVolumes=many(ref("dataVolume")),
        forker=forker(),
        volumes=fields(**dict.fromkeys(("home", "code", "scratch", "tmp"), ref("size"))),
        spark=ref("spark"),
        autoscaling=ref("autoscaling"),
        **pod() | {"terminationGracePeriodSeconds": nullable(integer(1))} | more,
    )
