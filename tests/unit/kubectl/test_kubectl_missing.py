import pytest

from headway.domain.errors import ClusterError
from headway.kubectl.kubectl import Kubectl


def test_without_kubectl_the_message_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")

    with pytest.raises(ClusterError, match=r"kubectl cannot be run .*; put it on PATH"):
        Kubectl().get("get", "pods")
