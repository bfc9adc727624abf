"""A release of the chart in a cluster: its pods, and commands in them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headway.kubectl import pods
from headway.kubectl.kubectl import Kubectl
from headway.kubectl.pods import Deployment, Pod


@dataclass(frozen=True, slots=True)
class Release:
    """The release that is asked, with its pods and, where they were looked at, Deployments."""

    kubectl: Kubectl
    name: str
    pods: Sequence[Pod]
    deployments: Sequence[Deployment] = ()

    def run(self, *arguments: str, changes: bool = False) -> int:
        """Run the command `headway` in a scheduler's pod, on this terminal; return its status.

        If it `changes` something, the journal names who the cluster says that the user is.
        """
        pod = pods.scheduler(self.pods)
        return self.kubectl.headway(pod, *arguments, user=self._user(changes=changes))

    def ask(self, *arguments: str, changes: bool = False) -> Any:
        """Return what the command `headway` in a scheduler's pod answers in JSON."""
        pod = pods.scheduler(self.pods)
        return self.kubectl.ask(pod, *arguments, user=self._user(changes=changes))

    def _user(self, *, changes: bool) -> str | None:
        return self.kubectl.user() if changes else None


def find(kubectl: Kubectl, wanted: str | None, kinds: str = "pods") -> Release:
    """Return the release of that name, or the only one; `kinds` are what is looked at.

    NotFoundError if there is none, ConflictError if several could be meant.
    """
    items = kubectl.get("get", kinds, "--selector", pods.SELECTOR)["items"]
    there, made = pods.pods(items), pods.deployments(items)
    names = {pod.release for pod in there} | {deployment.release for deployment in made}
    where = "" if names == {wanted} or (wanted is None and len(names) == 1) else kubectl.where()
    name = pods.choose(names, wanted, where)
    return Release(
        kubectl,
        name,
        [pod for pod in there if pod.release == name],
        [deployment for deployment in made if deployment.release == name],
    )
