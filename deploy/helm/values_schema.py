"""Write values.schema.json of the chart: what each value may be.

Settings of services are those of Headway's own models, without the ones that other values of the
chart give.  What contradicts each other, and cannot be said here, is in templates/_validate.tpl.
"""

import json
from pathlib import Path
from typing import Final

from deploy.helm.json_schema import (
    AMOUNTS,
    ANY,
    EMPTY,
    FILLED,
    NAME,
    POSITIVE,
    TEXT,
    TEXTS,
    TRUTH,
    Schema,
    at,
    fields,
    integer,
    many,
    matching,
    one_of,
    ref,
    requiring,
    when,
)
from deploy.helm.service_schema import api, autoscaling, forker, pod, settings_of, spark, worker

from headway.runtime.settings.api import ApiSettings
from headway.runtime.settings.parser import ParserSettings
from headway.runtime.settings.scheduler import SchedulerSettings
from headway.runtime.settings.worker import WorkerSettings

PATH: Final = Path(__file__).parent / "headway" / "values.schema.json"

ROLES: Final = ("owner", "scheduler", "parser", "worker", "user", "api", "readonly")
NEEDED: Final = ROLES[:4]


SIZE: Final = "[0-9]+([.][0-9]+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?"
IMAGE: Final = {
    "repository": NAME,
    "tag": TEXT,
    "digest": matching("^(sha256:[0-9a-f]{64})?$"),
}


def definitions() -> Schema:
    """Return what is used in several places."""
    peer = fields(ipBlock=ANY, namespaceSelector=ANY, podSelector=ANY) | {"minProperties": 1}
    bundle = fields(
        name=matching("^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$"),
        url=NAME,
        ref=TEXT,
        subdir=TEXT,
        refreshInterval=POSITIVE,
        cronSemantics=one_of("interval", "trigger"),
        parseTimeSecrets=TRUTH,
    )
    data = fields(
        name=matching("^[a-z0-9-]{1,50}$"), claim=NAME, path=matching("^/."), readOnly=TRUTH
    )
    group = matching("^[a-z0-9]([a-z0-9-]*[a-z0-9])?$") | {"maxLength": 18}
    secret = fields(name=NAME, key=NAME)
    return {
        "size": matching(f"^{SIZE}$"),
        "image": fields(**IMAGE),
        "secretKey": fields(name=TEXT, key=NAME),
        "secretsById": {
            "type": "object",
            "additionalProperties": requiring(secret, "name", "key"),
        },
        "resources": fields(requests=AMOUNTS, limits=AMOUNTS),
        "peers": many(peer),
        "peersAndPorts": fields(to=ref("peers"), ports=many(integer(1, 65535))),
        "egress": many(fields(to=ref("peers"), ports=many(ANY))),
        "podDisruptionBudget": fields(maxUnavailable={"type": ["integer", "string"]}),
        "topologySpread": fields(
            keys=many(NAME), whenUnsatisfiable=one_of("ScheduleAnyway", "DoNotSchedule")
        ),
        "bundle": requiring(bundle, "name", "url"),
        "dataVolume": requiring(data, "name", "claim", "path"),
        "schedulerSettings": settings_of(SchedulerSettings),
        "parserSettings": settings_of(ParserSettings),
        "apiSettings": settings_of(ApiSettings),
        "workerSettings": settings_of(WorkerSettings),
        "spark": spark(),
        "autoscaling": autoscaling(),
        "workerDefaults": worker(),
        "worker": requiring(worker(name=group), "name"),
    }


def services() -> dict[str, object]:
    """Return the blocks of the services, and that of the migration."""
    volumes = fields(bundles=ref("size"), tmp=ref("size"))
    parser = {"settings": ref("parserSettings"), "forker": forker(), "volumes": volumes}
    return {
        "scheduler": fields(
            replicas=integer(1), settings=ref("schedulerSettings"), userLogin=TRUTH, **pod()
        ),
        "parser": fields(replicas=integer(1), **parser, **pod()),
        "api": api(),
        "workers": {"type": "array", "minItems": 1, "items": ref("worker")},
        "workerDefaults": ref("workerDefaults"),
        "migration": fields(
            **dict.fromkeys(("ttlSecondsAfterFinished", "backoffLimit"), integer(0)),
            waitSeconds=integer(1),
            resources=ref("resources"),
        ),
    }


def databases() -> dict[str, object]:
    """Return the blocks of Postgres: elsewhere, through PgBouncer, or one for a trial."""
    modes = one_of("verify-full", "verify-ca", "require", "disable")
    return {
        "database": fields(
            host=TEXT,
            port=integer(1, 65535),
            **dict.fromkeys(("name", "owner"), matching("^[A-Za-z0-9_][A-Za-z0-9_.-]*$")),
            notify=TRUTH,
            tls=fields(mode=modes, caSecret=ref("secretKey")),
            secrets=fields(**dict.fromkeys(ROLES, ref("secretKey"))),
        ),
        "pgbouncer": fields(
            enabled=TRUTH,
            **dict.fromkeys(("replicas", "maxClientConnections"), integer(1)),
            image=ref("image"),
            userlistSecret=ref("secretKey"),
            tls=fields(enabled=TRUTH, secretName=TEXT),
            poolSizes=fields(**dict.fromkeys(ROLES[1:], integer(1))),
            resources=ref("resources"),
        ),
        "postgres": fields(
            enabled=TRUTH,
            image=ref("image"),
            uid=integer(1),
            **dict.fromkeys(("existingSecret", "storageClassName"), TEXT),
            storage=matching(f"^({SIZE})?$"),
            from_=ref("peers"),
            resources=ref("resources"),
        ),
    }


def surroundings() -> dict[str, object]:
    """Return what services find: images, DAG files, a place for logs, networks, Prometheus."""
    pulled = fields(**IMAGE, pullPolicy=one_of("Always", "IfNotPresent", "Never"))
    with_dags = fields(**IMAGE | {"repository": TEXT}, path=matching("^/"))
    logs = fields(
        remote=matching(r"^([a-z][a-z0-9+.-]*://[^@?#\s]+)?$"),
        volume=fields(claim=TEXT),
        ephemeral=TRUTH,
        keepBytes=integer(1024),
    )
    nowhere = at("ephemeral", {"const": False}) | {"allOf": [at("volume.claim", EMPTY)]}
    peers = fields(to=ref("peers"))
    monitor = fields(enabled=TRUTH, labels=TEXTS, interval=matching("^[0-9]+(ms|s|m)$"))
    return {
        "global": ANY,
        "uid": integer(1),
        "imagePullSecrets": many(NAME),
        **dict.fromkeys(("nameOverride", "fullnameOverride"), TEXT),
        "image": pulled,
        "sparkImage": ref("image"),
        "dags": fields(
            git=many(ref("bundle")),
            parseTimeSecrets=TRUTH,
            gitAccess=fields(**dict.fromkeys(("sshSecret", "credentialsSecret", "caSecret"), TEXT)),
            image=with_dags,
            volume=fields(claim=TEXT, path=TEXT),
        ),
        "logs": logs | when(nowhere, at("remote", FILLED)),
        "encryptionKeys": ref("secretKey"),
        "http": fields(port=integer(1024, 65535)),
        "metrics": fields(podMonitor=monitor, from_=ref("peers")),
        "alerts": fields(enabled=TRUTH, labels=TEXTS, runbook=TEXT),
        "dashboards": fields(enabled=TRUTH, labels=TEXTS, annotations=TEXTS),
        "networkPolicy": fields(
            enabled=TRUTH,
            **dict.fromkeys(("dns", "database"), peers),
            **dict.fromkeys(("git", "logs", "kubernetesApi"), ref("peersAndPorts")),
        ),
    }


def requirements() -> list[Schema]:
    """Return what must be named of Postgres and of PgBouncer, where they are used."""
    elsewhere = at("postgres.enabled", {"const": False})
    verified = elsewhere | {"allOf": [at("database.tls.mode", {"pattern": "^verify"})]}
    pooled = at("pgbouncer.enabled", {"const": True})
    encrypted = pooled | {"allOf": [at("pgbouncer.tls.enabled", {"const": True})]}
    return [
        when(elsewhere, at("database.host", FILLED)),
        *(when(elsewhere, at(f"database.secrets.{role}.name", FILLED)) for role in NEEDED),
        when(verified, at("database.tls.caSecret.name", FILLED)),
        when(pooled, at("pgbouncer.userlistSecret.name", FILLED)),
        when(encrypted, at("pgbouncer.tls.secretName", FILLED)),
    ]


def schema() -> Schema:
    """Return the whole schema."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Values of the chart headway",
        **fields(**surroundings(), **databases(), **services()),
        "allOf": requirements(),
        "definitions": definitions(),
    }


def text() -> str:
    """Return the file's text."""
    return json.dumps(schema(), indent=1) + "\n"


if __name__ == "__main__":
    PATH.write_text(text())
