"""Asking a driver how far it is: one that answers, and whatever else may be at its address."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread

import pytest

from headway.domain.spark_work import SparkFigures, SparkProgress
from headway.runtime.daemon.clock import SystemClock
from headway.testing.time.clock import until
from headway_worker.spark.figures.event_log import EventLog, EventLogTally
from headway_worker.spark.figures.watch import ALL, DriverWatch, DriverWatcher

ANSWERS = Path(__file__).parents[3] / "unit" / "worker" / "spark" / "figures" / "answers"
APPLICATION = "/api/v1/applications"
OF_IT = f"{APPLICATION}/local-1"
DRIVER = {
    APPLICATION: json.dumps([{"id": "local-1"}]),
    f"{OF_IT}/stages": (ANSWERS / "stages.json").read_text(),
    f"{OF_IT}/jobs": (ANSWERS / "jobs.json").read_text(),
    f"{OF_IT}/stages/7/0/taskSummary?quantiles=0.5,1.0": (
        ANSWERS / "task_summary.json"
    ).read_text(),
}

Respond = Callable[[BaseHTTPRequestHandler], None]


@contextmanager
def serving(respond: Respond) -> Iterator[str]:
    """Serve GET on a free port; return the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            respond(self)

        def log_message(self, *_args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def answer(request: BaseHTTPRequestHandler, code: int, text: str, **headers: str) -> None:
    request.send_response(code)
    for name, value in headers.items():
        request.send_header(name, value)
    request.end_headers()
    request.wfile.write(text.encode())


def as_driver(request: BaseHTTPRequestHandler) -> None:
    text = DRIVER.get(request.path)
    answer(request, 404 if text is None else 200, text or "no such thing")


class Told:
    """What a watch has told, and the watch."""

    def __init__(self, events: EventLog | None = None) -> None:
        self.progress: list[SparkProgress] = []
        self.figures: list[SparkFigures] = []
        self.watch = DriverWatch(DriverWatcher(self.progress.append, self.figures.append), events)


def test_a_driver_tells_progress_while_it_runs_and_figures_at_its_end() -> None:
    told = Told()
    with serving(as_driver) as address:
        told.watch.begin(address)
        until(lambda: told.progress, "progress")
        assert told.figures == []
        told.watch.close()

    assert told.progress[0].tasks_done == 21
    (figures,) = told.figures
    assert (figures.jobs, figures.tasks, figures.rows_written) == (7, 22, 10)
    assert (figures.skew, figures.skew_stage) == (23.19, 7)


def test_a_driver_is_asked_once_more_at_its_end() -> None:
    told, paths = Told(), list[str]()

    def respond(request: BaseHTTPRequestHandler) -> None:
        paths.append(request.path)
        as_driver(request)

    with serving(respond) as address:
        told.watch.begin(address)
        until(lambda: told.progress, "progress")
        before = paths.count(f"{OF_IT}/stages")
        told.watch.close()

    assert paths.count(f"{OF_IT}/stages") > before


def test_a_driver_may_send_us_to_its_proxy_and_the_environment_may_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    told, proxy = Told(), "/proxy"

    def respond(request: BaseHTTPRequestHandler) -> None:
        if request.path.startswith(proxy):
            request.path = request.path.removeprefix(proxy)
            as_driver(request)
        else:
            answer(request, 302, "", Location=proxy + request.path)

    with serving(respond) as address:
        told.watch.begin(address)
        until(lambda: told.progress, "progress")
        told.watch.close()

    assert [figures.tasks for figures in told.figures] == [22]


def test_a_driver_that_has_gone_leaves_what_it_said_last() -> None:
    told = Told()
    with serving(as_driver) as address:
        told.watch.begin(address)
        until(lambda: told.progress, "progress")
    told.watch.close()

    assert [figures.tasks for figures in told.figures] == [22]


REFUSALS: dict[str, Respond] = {
    "forbidden": lambda request: answer(request, 403, "[]"),
    "a login": lambda request: answer(request, 302, "", Location="/login"),
    "a page": lambda request: answer(request, 200, "<html>Log in</html>"),
    "another thing": lambda request: answer(request, 200, '{"id": 1}'),
    "nobody's": lambda request: answer(request, 200, "[]"),
    "nested": lambda request: answer(request, 200, "[" * 100_000),
    "no HTTP": lambda request: request.connection.close(),
}


@pytest.mark.parametrize("refusal", REFUSALS)
def test_whatever_else_is_there_makes_figures_unknown(refusal: str) -> None:
    told, asked = Told(), Event()

    def respond(request: BaseHTTPRequestHandler) -> None:
        asked.set()
        REFUSALS[refusal](request)

    with serving(respond) as address:
        told.watch.begin(address)
        assert SystemClock().wait(asked, 60)
        told.watch.close()

    assert (told.progress, told.figures) == ([], [])


def test_an_interface_that_never_answers_holds_nothing_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headway_worker.spark.figures.watch._ANSWER_SECONDS", 0.2)
    told, asked, over = Told(), Event(), Event()

    def respond(_request: BaseHTTPRequestHandler) -> None:
        asked.set()
        over.wait(60)

    with serving(respond) as address:
        told.watch.begin(address)
        assert SystemClock().wait(asked, 60)
        told.watch.close()
        over.set()

    assert (told.progress, told.figures) == ([], [])


def test_a_driver_that_was_never_found_is_unknown() -> None:
    told = Told()

    told.watch.close()

    assert told.figures == []


JOB = b'{"Event":"SparkListenerJobStart","Job ID":0,"Stage IDs":[0],"Properties":{}}\n'


def test_the_log_of_a_driver_comes_before_its_answers(tmp_path: Path) -> None:
    log = tmp_path / "events" / "eventlog_v2_local-1"
    log.mkdir(parents=True)
    (log / "events_1_local-1").write_bytes(JOB)
    told = Told(EventLog(tmp_path, EventLogTally(ALL)))
    with serving(as_driver) as address:
        told.watch.begin(address)
        until(lambda: told.progress, "progress")
    (log / "events_2_local-1").write_bytes(JOB)  # after the last answer
    told.watch.close()

    assert told.figures == [SparkFigures(jobs=2)]


def test_a_driver_without_a_log_is_known_by_its_answers(tmp_path: Path) -> None:
    told = Told(EventLog(tmp_path, EventLogTally(ALL)))
    with serving(as_driver) as address:
        told.watch.begin(address)
        until(lambda: told.progress, "progress")
        told.watch.close()

    assert [figures.jobs for figures in told.figures] == [7]
