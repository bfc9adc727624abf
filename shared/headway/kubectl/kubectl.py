"""The user's own kubectl, run as a program: its context, its credentials, its plugins."""

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headway.domain.errors import ClusterError
from headway.kubectl.pods import Pod


@dataclass(frozen=True, slots=True)
class Done:
    """How a program ended, and what it printed."""

    status: int
    output: str
    error: str


@dataclass(frozen=True, slots=True)
class Kubectl:
    """Calls of kubectl in a namespace of a context; None for those that are the user's default."""

    namespace: str | None = None
    context: str | None = None

    def get(self, *arguments: str) -> Any:
        """Return what kubectl answers in JSON; ClusterError, with its message, if it fails."""
        done = self._captured(*arguments, "--output", "json")
        if done.status != 0:
            raise ClusterError(f"kubectl {arguments[0]} failed: {done.error.strip()}")
        return _parsed(done.output, f"kubectl {arguments[0]}")

    def delete_pod(self, name: str) -> None:
        """Delete a pod and do not wait for its end; ClusterError if that is refused."""
        done = self._captured("delete", "pod", name, "--wait=false")
        if done.status != 0:
            raise ClusterError(f"kubectl delete failed: {done.error.strip()}")

    def where(self) -> str:
        """Return the namespace and the context that calls are about, for a message."""
        arguments = ["config", "view", "--minify", "--output", "json"]
        done = self._captured(*arguments)
        try:
            view = json.loads(done.output)
            name = view["current-context"]
            namespace = view["contexts"][0]["context"].get("namespace", "default")
        except (ValueError, LookupError, TypeError):
            name, namespace = "?", "default"
        return f"the namespace {self.namespace or namespace} (context {self.context or name})"

    def user(self) -> str:
        """Return who the cluster says that the user is; without an answer, this account's name."""
        done = self._captured("auth", "whoami", "--output", "json")
        try:
            name = json.loads(done.output)["status"]["userInfo"]["username"]
        except (ValueError, LookupError, TypeError):
            name = None
        if name:
            return str(name)
        from headway.cli.input.session import account

        return account()

    def headway(self, pod: Pod, *arguments: str, user: str | None = None) -> int:
        """Run the command `headway` in a pod, on this terminal; return its exit status.

        The journal calls who did it `user`.
        """
        return self._run([*self._exec(pod, user), *arguments])

    def ask(self, pod: Pod, *arguments: str, user: str | None = None) -> Any:
        """Return what the command `headway` in a pod answers in JSON.

        FailedInPodError, with its message and exit status, if it gives no answer.
        """
        done = self._capture([*self._exec(pod, user), *arguments, "--output", "json"])
        if not done.output.strip() or done.status not in {0, 1}:
            raise FailedInPodError(done)
        return _parsed(done.output, f"headway {arguments[0]} in {pod.name}")

    def _exec(self, pod: Pod, user: str | None) -> list[str]:
        named = [] if user is None else ["env", f"LOGNAME={user}"]
        target = ["exec", pod.name, "--container", pod.service, "--"]
        return [*self._begin(), *target, *named, "headway"]

    def _begin(self) -> list[str]:
        given = (("--context", self.context), ("--namespace", self.namespace))
        return [
            "kubectl",
            *(argument for name, value in given if value for argument in (name, value)),
        ]

    def _captured(self, *arguments: str) -> Done:
        return self._capture([*self._begin(), *arguments])

    def _capture(self, command: Sequence[str]) -> Done:
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:
            raise _missing(error) from error
        return Done(done.returncode, done.stdout, done.stderr)

    def _run(self, command: Sequence[str]) -> int:
        try:
            return subprocess.run(command, check=False).returncode
        except OSError as error:
            raise _missing(error) from error


class FailedInPodError(ClusterError):
    """A command in a pod gave no answer; `done` has its message and its exit status."""

    code = "failed_in_pod"

    def __init__(self, done: Done) -> None:
        self.done = done
        super().__init__(done.error.strip() or f"it ended with status {done.status}")


def _missing(error: OSError) -> ClusterError:
    return ClusterError(f"kubectl cannot be run ({error.strerror}); put it on PATH.")


def _parsed(text: str, who: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ClusterError(f"{who} did not answer in JSON: {text[:200]!r}") from error
