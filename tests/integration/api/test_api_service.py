"""The service as a whole: it does not live on without the thread that answers requests."""

from pathlib import Path
from threading import Event

import pytest
import uvicorn

from headway.runtime.daemon import service
from headway.runtime.daemon.bell import Bell
from headway.runtime.daemon.loop import Found
from headway_api import command
from headway_api.command import ApiJob
from headway_api.http.server import ServerFailedError


def test_the_process_ends_by_an_error_when_its_server_has_ended(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server ends when the loop rests, which it would do for an hour."""
    monkeypatch.setenv("HEADWAY_HOME", str(tmp_path))
    monkeypatch.setenv("HEADWAY_API_PORT", "0")
    monkeypatch.setenv("HEADWAY_API_HEARTBEAT_INTERVAL", "3600")
    stepped, step = Event(), ApiJob.step

    def watched(job: ApiJob) -> Found:
        found = step(job)
        stepped.set()
        return found

    monkeypatch.setattr(service, "stop_on_signals", Bell)
    monkeypatch.setattr(ApiJob, "step", watched)
    monkeypatch.setattr(uvicorn.Server, "run", lambda _self, _sockets: stepped.wait(30))

    with pytest.raises(ServerFailedError):
        command.run(database_url)
