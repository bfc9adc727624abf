"""What is wrong with values is refused, by both Helms, with words that say where and what."""

from pathlib import Path

import pytest
import yaml
from tests.chart.rendering import SETS, RefusedError, render

GROUP = "workers: [{name: default, %s}]"
IN_POD = "spark: {kind: kubernetes, kubernetes: {image: x, %s}}"

WRONG = {
    "no scheduler": ("scheduler: {replicas: 0}", ["scheduler.replicas", "1"]),
    "no parser": ("parser: {replicas: 0}", ["parser.replicas", "1"]),
    "no worker": (GROUP % "replicas: 0", ["workers.0.replicas", "1"]),
    "no group": ("workers: []", ["workers", "1"]),
    "unknown value": ("schedulers: 3", ["schedulers", "not allowed"]),
    "unknown value of a group": (GROUP % "slot: 3", ["workers.0", "slot", "not allowed"]),
    "unknown setting": ("scheduler: {settings: {paralelism: 3}}", ["paralelism", "not allowed"]),
    "a setting that a value gives": (GROUP % "settings: {slots: 3}", ["slots", "not allowed"]),
    "two groups of one name": (
        "workers: [{name: a}, {name: b}, {name: a}]",
        ["workers: two groups are called a; rename one."],
    ),
    "a name that is none": ("workers: [{name: My Group}]", ["workers.0.name", "pattern"]),
    "a long name": (f"workers: [{{name: {'a' * 19}}}]", ["workers.0.name", "18"]),
    "lease below heartbeat": (
        GROUP % "leaseDuration: 1",
        ["workers (default): leaseDuration is 1, and must be at least 11"],
    ),
    "no time to drain": (
        GROUP % "drainGrace: 300, terminationGracePeriodSeconds: 300",
        ["workers (default): terminationGracePeriodSeconds is 300, and must be at least 315"],
    ),
    "dead before the second beat": (
        "scheduler: {settings: {scheduler_health_check_threshold: 3}}",
        ["scheduler_health_check_threshold is 3", "three times heartbeat_interval (2)"],
    ),
    "two schedulers where there is one": (
        "scheduler: {settings: {use_row_level_locking: false}}",
        ["use_row_level_locking is false", "set scheduler.replicas to 1"],
    ),
    "no host": ("database: {host: ''}", ["database.host", "1"]),
    "a database whose name is no part of an address": (
        "database: {name: 'flow?sslmode=disable'}",
        ["database.name", "pattern"],
    ),
    "an owner whose name is no part of an address": (
        "database: {owner: 'flow@elsewhere'}",
        ["database.owner", "pattern"],
    ),
    "missing secret": (
        "database: {secrets: {scheduler: {name: ''}}}",
        ["database.secrets.scheduler.name", "1"],
    ),
    "missing authority": ("database: {tls: {caSecret: {name: ''}}}", ["tls.caSecret.name", "1"]),
    "no such mode": ("database: {tls: {mode: prefer}}", ["database.tls.mode", "verify-full"]),
    "asleep for longer than it may take to end": (
        "scheduler: {preStopSleepSeconds: 60}",
        ["scheduler: terminationGracePeriodSeconds is 60, and must be at least 70"],
    ),
    "a parser that sleeps for too long": (
        "parser: {preStopSleepSeconds: 21, terminationGracePeriodSeconds: 30}",
        ["parser: terminationGracePeriodSeconds is 30, and must be at least 31"],
    ),
    "two databases": (
        "postgres: {enabled: true}",
        ["database.host and postgres.enabled are both set; keep one."],
    ),
    "a pooler without logins": ("pgbouncer: {enabled: true}", ["pgbouncer.userlistSecret.name"]),
    "a pooler without a certificate": (
        "pgbouncer: {enabled: true, userlistSecret: {name: x}}",
        ["pgbouncer.tls.secretName"],
    ),
    "no dags": ("dags: {image: {repository: ''}}", ["dags: there are none"]),
    "two bundles of one name": (
        "dags: {git: [{name: a, url: u}, {name: a, url: v}]}",
        ["dags.git: a is the name of two bundles"],
    ),
    "a bundle without an address": ("dags: {git: [{name: a}]}", ["dags.git.0", "url"]),
    "nowhere to keep logs": ("logs: {ephemeral: false}", ["logs.remote", "1"]),
    "two places to keep logs": (
        "logs: {remote: 's3://logs-example', volume: {claim: logs}}",
        ["logs.remote and logs.volume.claim are both set; keep one."],
    ),
    "a login in the address of logs": ("logs: {remote: s3://a:b@c/d}", ["logs.remote", "pattern"]),
    "a token that nobody asked for": (GROUP % IN_POD % "", ["driverInPod"]),
    "a token that was refused": (GROUP % IN_POD % "driverInPod: false", ["driverInPod", "true"]),
    "executors without an image": (
        GROUP % "spark: {kind: kubernetes, kubernetes: {deployMode: cluster}}",
        ["workers.0.spark.kubernetes", "image"],
    ),
    "applications that nobody may submit": (
        GROUP % IN_POD % "deployMode: cluster",
        ["workers (default): nothing logs in to the API server", "spark.kubernetes.driverInPod"],
    ),
    "a Connect server of another kind": (
        GROUP % "spark: {kind: connect, connection: 'spark://x:7077'}",
        ["workers.0.spark.connection", "^sc://"],
    ),
    "a cluster without a connection": (GROUP % "spark: {kind: standalone}", ["connection"]),
    "a cluster that no policy allows": (
        GROUP % "spark: {kind: standalone, connection: 'spark://x:7077'}",
        ["workers (default): spark.network.to is empty"],
    ),
    "a connection to no Spark": (
        GROUP % "spark: {connection: 'sc://x:15002'}",
        ["workers (default): spark.connection is for `connect` and `standalone`, not for `none`"],
    ),
    "a connection to a Spark of the worker's own": (
        GROUP % "spark: {kind: embedded, connectionSecret: {name: x}}",
        ["workers (default): spark.connectionSecret names another Spark", "`embedded`"],
    ),
    "two connections": (
        GROUP % "spark: {kind: connect, connection: 'sc://x', connectionSecret: {name: x}}",
        ["workers (default): spark.connection and spark.connectionSecret are both set; keep one."],
    ),
    "two ways to scale": (
        GROUP % "autoscaling: {kind: [keda, hpa]}",
        ["workers.0.autoscaling.kind", "keda", "hpa"],
    ),
    "KEDA without a login": (
        GROUP % "autoscaling: {kind: keda}",
        ["workers (default): KEDA logs in as headway_readonly"],
    ),
    "KEDA that the chart's Postgres does not let in": (
        "database: {host: ''}\npostgres: {enabled: true}\n" + GROUP % "autoscaling: {kind: keda}",
        ["workers (default): no NetworkPolicy lets KEDA in", "postgres.from"],
    ),
    "an HPA to zero": (
        GROUP % "autoscaling: {kind: hpa, minReplicas: 0}",
        ["workers (default): autoscaling.minReplicas is 0"],
    ),
    "fewer than the fewest": (
        GROUP % "autoscaling: {kind: hpa, minReplicas: 20}",
        ["workers (default): autoscaling.maxReplicas (10) is less than minReplicas (20)"],
    ),
    "a secret for attempts": (
        GROUP % "forker: {env: [{name: A, valueFrom: {secretKeyRef: {name: x, key: y}}}]}",
        ["workers.0.forker.env.0", "valueFrom", "not allowed"],
    ),
    "metrics that nobody may read": (
        "metrics: {podMonitor: {enabled: true}}",
        ["no NetworkPolicy lets Prometheus in; name its namespace in metrics.from"],
    ),
    "data without a place": (
        GROUP % "dataVolumes: [{name: lake, claim: lake}]",
        ["workers.0.dataVolumes.0", "path"],
    ),
    "no digest": ("image: {digest: latest}", ["image.digest", "pattern"]),
    "a port that needs root": ("http: {port: 80}", ["http.port"]),
    "root": ("uid: 0", ["uid", "1"]),
}


@pytest.mark.parametrize("major", [3, 4])
@pytest.mark.parametrize("what", WRONG)
def test_it_is_refused(what: str, major: int, tmp_path: Path) -> None:
    text, words = WRONG[what]
    values = tmp_path / "values.yaml"
    values.write_text(text)
    assert isinstance(yaml.safe_load(text), dict)

    with pytest.raises(RefusedError) as refused:
        render(SETS["least"], values, major=major)

    said = str(refused.value)
    missing = [word for word in words if word not in said and word.replace(".", "/") not in said]
    assert missing == [], said


def test_all_that_contradicts_each_other_is_told_at_once(tmp_path: Path) -> None:
    values = tmp_path / "values.yaml"
    values.write_text(
        "{workers: [{name: a, leaseDuration: 1}, {name: a}], dags: {image: {repository: ''}}}"
    )

    with pytest.raises(RefusedError) as refused:
        render(SETS["least"], values)

    assert str(refused.value).count("\n- ") == 3


@pytest.mark.parametrize(
    "login",
    [
        "kubernetes: {driverInPod: true}",
        "connectionSecret: {name: spark}",
        "kubernetes: {conf: {spark.kubernetes.authenticate.submission.oauthTokenFile: /token}}",
    ],
)
def test_applications_are_submitted_by_a_login_of_any_kind(login: str, tmp_path: Path) -> None:
    values, more = tmp_path / "values.yaml", tmp_path / "more.yaml"
    values.write_text(
        GROUP % "spark: {kind: kubernetes, kubernetes: {deployMode: cluster, image: x}}"
    )
    more.write_text(f"workerDefaults: {{spark: {{{login}}}}}")

    assert render(SETS["least"], values, more)
