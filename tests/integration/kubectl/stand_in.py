"""A stand-in for an API server: pods, Deployments, and `exec` as kubectl speaks it since 1.31.

`exec` comes by WebSocket with the protocol v5.channel.k8s.io: the first byte of each message is a
channel, 1 for stdout, 2 for stderr, 3 for how the command ended, as a Status in JSON.
"""

import json
import struct
import subprocess
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha1
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qs, unquote, urlsplit

Object: TypeAlias = dict[str, Any]
Run: TypeAlias = Callable[[str, Sequence[str]], "subprocess.CompletedProcess[bytes]"]

PROTOCOL: Final = "v5.channel.k8s.io"
STDOUT, STDERR, ERROR = 1, 2, 3
_GUID: Final = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_VERBS: Final = ["get", "list", "delete", "create"]
_RESOURCES: Final = {
    "v1": [("pods", "Pod", True)],
    "apps/v1": [("deployments", "Deployment", True)],
    "authentication.k8s.io/v1": [("selfsubjectreviews", "SelfSubjectReview", False)],
}


@dataclass
class StandIn:
    """What the cluster has, and what was asked of it."""

    objects: list[Object] = field(default_factory=list)
    user: str = "ann@example.com"
    requests: list[str] = field(default_factory=list)
    """Each request: verb and path, and of an exec the command."""

    def select(self, namespace: str, plural: str, selector: str) -> list[Object]:
        kind = {name: kind for found in _RESOURCES.values() for name, kind, _ in found}[plural]
        return [
            manifest
            for manifest in self.objects
            if manifest["kind"] == kind
            and manifest["metadata"]["namespace"] == namespace
            and _matches(manifest["metadata"]["labels"], selector)
        ]

    @contextmanager
    def serving(self, run: Run, folder: Path, namespace: str) -> Iterator[Path]:
        """Serve; give the kubeconfig of a context whose namespace that is.

        `run` executes the command of an exec in the pod `NAMESPACE/POD`.
        """
        handler = type("_Handler", (_Handler,), {"stand_in": self, "run": staticmethod(run)})
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        thread = Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield _kubeconfig(folder / "kubeconfig", server.server_port, namespace)
        finally:
            server.shutdown()
            thread.join()
            server.server_close()


def _matches(labels: Mapping[str, str], selector: str) -> bool:
    """Whether labels are as a selector of the form `name in (a,b)` asks; an empty one asks none."""
    if not selector:
        return True
    name, _, values = selector.partition(" in ")
    return labels.get(name) in values.strip("()").split(",")


def _kubeconfig(path: Path, port: int, namespace: str) -> Path:
    context = {"cluster": "here", "user": "ann", "namespace": namespace}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "test",
        "clusters": [{"name": "here", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "users": [{"name": "ann", "user": {}}],
        "contexts": [{"name": "test", "context": context}],
    }
    path.write_text(json.dumps(config))
    return path


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    stand_in: StandIn
    run: Run

    def do_GET(self) -> None:
        self._note()
        address = urlsplit(self.path)
        query = parse_qs(address.query)
        match unquote(address.path).strip("/").split("/"):
            case ["api"]:
                self._answer({"kind": "APIVersions", "versions": ["v1"]})
            case ["apis"]:
                self._answer(_groups())
            case ["api", "v1", "namespaces", namespace, "pods", pod, "exec"]:
                self._exec(f"{namespace}/{pod}", query["command"])
            case [_, *version, "namespaces", namespace, plural]:
                found = self.stand_in.select(namespace, plural, *query.get("labelSelector", [""]))
                self._answer({"kind": "List", "apiVersion": "/".join(version), "items": found})
            case [_, *_, "namespaces", namespace, plural, name]:
                found = self.stand_in.select(namespace, plural, "")
                named = [manifest for manifest in found if manifest["metadata"]["name"] == name]
                self._answer(*((named[0], 200) if named else (_absent(name), 404)))
            case [_, *version]:
                self._answer(_resources("/".join(version)))

    def do_POST(self) -> None:
        self._note()
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        review: Object = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        review["status"] = {"userInfo": {"username": self.stand_in.user}}
        self._answer(*((review, 201) if self.stand_in.user else (_absent("you"), 404)))

    def do_DELETE(self) -> None:
        self._note()
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        name = urlsplit(self.path).path.rpartition("/")[2]
        kept = [
            manifest for manifest in self.stand_in.objects if manifest["metadata"]["name"] != name
        ]
        self.stand_in.objects[:] = kept
        self._answer({"kind": "Status", "apiVersion": "v1", "status": "Success"})

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _note(self) -> None:
        words = parse_qs(urlsplit(self.path).query).get("command", [])
        self.stand_in.requests.append(" ".join([self.command, urlsplit(self.path).path, *words]))

    def _answer(self, found: Object, status: int = 200) -> None:
        content = json.dumps(found).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _exec(self, where: str, command: Sequence[str]) -> None:
        assert PROTOCOL in self.headers["Sec-WebSocket-Protocol"], self.headers
        key = f"{self.headers['Sec-WebSocket-Key']}{_GUID}".encode()
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", b64encode(sha1(key).digest()).decode())
        self.send_header("Sec-WebSocket-Protocol", PROTOCOL)
        self.end_headers()
        done = self.run(where, command)
        self._send(STDOUT, done.stdout)
        self._send(STDERR, done.stderr)
        self._send(ERROR, json.dumps(_status(done.returncode)).encode())
        self.wfile.write(b"\x88\x02" + struct.pack("!H", 1000))
        self.close_connection = True

    def _send(self, channel: int, content: bytes) -> None:
        message = bytes([channel]) + content
        self.wfile.write(b"\x82\x7f" + struct.pack("!Q", len(message)) + message)


def _groups() -> Object:
    groups = [version.split("/") for version in _RESOURCES if "/" in version]
    return {
        "kind": "APIGroupList",
        "groups": [
            {
                "name": group,
                "versions": [{"groupVersion": f"{group}/{version}", "version": version}],
                "preferredVersion": {"groupVersion": f"{group}/{version}", "version": version},
            }
            for group, version in groups
        ],
    }


def _resources(group_version: str) -> Object:
    found = [
        {"name": name, "singularName": "", "namespaced": own, "kind": kind, "verbs": _VERBS}
        for name, kind, own in _RESOURCES.get(group_version, [])
    ]
    return {"kind": "APIResourceList", "groupVersion": group_version, "resources": found}


def _absent(what: str) -> Object:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "reason": "NotFound",
        "message": f'"{what}" not found',
        "code": 404,
    }


def _status(code: int) -> Object:
    if code == 0:
        return {"metadata": {}, "status": "Success"}
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: exit status {code}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }
