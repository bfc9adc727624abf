"""Alerts: when each fires and clears, by promtool; what each of them and its page must have."""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from headway.metrics import catalogue
from headway.testing.metrics.alerts import RULES, samples_in
from headway.testing.processes.required import required_program

ROOT = Path(__file__).parents[3]
RUNBOOK = ROOT / "docs" / "runbook"
ALERTS: dict[str, dict[str, Any]] = {
    rule["alert"]: rule for rule in yaml.safe_load(RULES.read_text())["groups"][0]["rules"]
}
BAD_AT, GOOD_AT = 30, 150
"""Minutes at which the condition begins and ends; a value is given each minute."""

SECTIONS = ("What it means", "What to look at", "What to do", "When to ignore it")


@dataclass(frozen=True)
class Case:
    """Series that are good, then bad, then good again; minutes until the alert has fired, at most.

    One that rises is a counter: what is given is what it grows by in a minute.
    """

    series: str
    good: str
    bad: str
    fires: int
    clears: int = 1
    rises: bool = False
    beside: tuple[tuple[str, str], ...] = ()

    def values(self) -> str:
        good, bad = f"{self.good}x{BAD_AT - 1}", f"{self.bad}x{GOOD_AT - BAD_AT - 1}"
        if not self.rises:
            return f"{good} {bad} {self.good}x120"
        grown = int(self.bad) * (GOOD_AT - BAD_AT - 1)
        return f"0x{BAD_AT - 1} 0+{self.bad}x{GOOD_AT - BAD_AT - 1} {grown}x120"


def gauge(series: str, good: float | str, bad: float | str, fires: int) -> Case:
    return Case(series, str(good), str(bad), fires)


def counter(series: str, each: int, fires: int, clears: int) -> Case:
    return Case(series, "0", str(each), fires, clears, rises=True)


def alive(kind: str) -> str:
    return f'headway_processes{{kind="{kind}"}}'


SCHEDULERS = 'headway_tasks_queued_total{instance="one"}'

CASES: dict[str, list[Case]] = {
    "HeadwayNoScheduler": [
        gauge(SCHEDULERS, 1, "_", 8),
        Case(alive("scheduler"), "2", "0", 2, beside=((SCHEDULERS, "1x300"),)),
    ],
    "HeadwayDatabaseAway": [
        gauge('headway_measured_timestamp_seconds{subject="queues"}', "0+60", 1740, 2)
    ],
    "HeadwayNoParser": [gauge(alive("parser"), 1, 0, 5)],
    "HeadwayNoWorker": [gauge(alive("worker"), 1, 0, 5)],
    "HeadwayQueueUnclaimed": [
        Case('headway_oldest_queued_attempt_seconds{queue="default"}', "299", "301", 5, clears=8)
    ],
    "HeadwayPoolStarving": [gauge('headway_pool_starving_slots{pool="default_pool"}', 0, 1, 30)],
    "HeadwayParserStuck": [
        gauge('headway_parser_look_age_seconds{instance="one"}', 10, 301, 5),
        gauge('headway_parser_queue_age_seconds{instance="one"}', 10, 601, 5),
    ],
    "HeadwayNoApi": [gauge(alive("api"), 1, 0, 5)],
    "HeadwayApiErrors": [
        counter('headway_api_requests_total{status="5xx"}', 2, 7, 11),
    ],
    "HeadwayAttemptsLost": [counter("headway_attempts_lost_total", 2, 4, 15)],
    "HeadwayClockOff": [
        gauge('headway_clock_skew_seconds{instance="one"}', 4, 6, 5),
        gauge('headway_clock_skew_seconds{instance="one"}', -4, -6, 5),
    ],
    "HeadwayDiskFilling": [
        gauge('headway_home_disk_bytes{instance="one", space="free"}', 11, 9, 10)
    ],
    "HeadwayOldTransaction": [gauge("headway_database_oldest_transaction_seconds", 899, 901, 5)],
    "HeadwayRetentionBehind": [
        gauge('headway_retention_behind_seconds{kind="runs"}', 172_000, 173_000, 60)
    ],
    "HeadwayDeadlinesMissed": [counter("headway_deadlines_missed_total", 1, 2, 11)],
    "HeadwayNotificationsWaiting": [
        gauge("headway_notification_oldest_wait_seconds", 1799, 1801, 5)
    ],
    "HeadwayRefusedTransition": [counter("headway_illegal_transition_total", 1, 2, 61)],
    "HeadwayLogsNotCopied": [counter('headway_logs_not_copied_total{instance="one"}', 1, 2, 61)],
    "HeadwayTaskLag": [counter('headway_task_lag_seconds_bucket{le="1800.0"}', 10, 12, 11)],
}
"""What is wrong for each alert.  Task lag: nothing is started within 300 s, or all is."""

ALWAYS = {
    "HeadwayNoWorker": [('headway_queued_attempts{queue="default"}', "1x300")],
    "HeadwayDiskFilling": [('headway_home_disk_bytes{instance="one", space="total"}', "100x300")],
    "HeadwayApiErrors": [('headway_api_requests_total{status="2xx"}', "0+10x300")],
    "HeadwayTaskLag": [
        ('headway_task_lag_seconds_bucket{le="300.0"}', "0x300"),
        ('headway_task_lag_seconds_bucket{le="+Inf"}', counter("", 10, 0, 0).values()),
    ],
}


def told(alert: str, case: Case) -> list[dict[str, Any]]:
    """What promtool is to find: nothing, the alert, nothing again."""
    quiet = [BAD_AT - 1, GOOD_AT + case.clears + 1]
    if case.fires > 2 and not case.rises:
        quiet.append(BAD_AT + case.fires - 2)
    return [{"eval_time": f"{minute}m", "alertname": alert, "exp_alerts": []} for minute in quiet]


def told_as(minute: int) -> str:
    """A minute as promtool tells it."""
    hours, minutes = divmod(minute, 60)
    return f"{hours}h{minutes}m" if hours and minutes else f"{hours}h" if hours else f"{minutes}m"


@pytest.mark.parametrize("alert", ALERTS)
def test_an_alert_fires_in_time_and_clears(alert: str, tmp_path: Path) -> None:
    required_program("promtool", "prometheus")
    for case in CASES[alert]:
        given = [{"series": case.series, "values": case.values()}]
        beside = [*ALWAYS.get(alert, []), *case.beside]
        given += [{"series": series, "values": values} for series, values in beside]
        minute = BAD_AT + case.fires + 1
        firing = {"eval_time": f"{minute}m", "alertname": alert, "exp_alerts": []}
        found = promtool(tmp_path, given, [*told(alert, case), firing])
        times = re.findall(rf"alertname: {alert}, time: (\w+)", found)
        assert times == [told_as(minute)], (alert, case, found)


def test_attempts_that_are_taken_back_and_queued_anew_count_as_unclaimed(tmp_path: Path) -> None:
    """Every 10 minutes their age begins at 0."""
    required_program("promtool", "prometheus")
    alert, ages = "HeadwayQueueUnclaimed", " ".join(["0+60x9"] * 20)
    series = 'headway_oldest_queued_attempt_seconds{queue="default"}'
    minutes = range(20, 100)
    none = [{"eval_time": f"{minute}m", "alertname": alert, "exp_alerts": []} for minute in minutes]

    found = promtool(tmp_path, [{"series": series, "values": ages}], none)

    assert found.count(f"alertname: {alert}, time:") == len(minutes)


def test_no_worker_is_needed_where_nothing_is_queued(tmp_path: Path) -> None:
    required_program("promtool", "prometheus")
    given = [
        {"series": alive("worker"), "values": "0x200"},
        {"series": 'headway_queued_attempts{queue="default"}', "values": "0x200"},
    ]
    quiet = {"eval_time": "60m", "alertname": "HeadwayNoWorker", "exp_alerts": []}

    assert promtool(tmp_path, given, [quiet]) == ""


def promtool(folder: Path, series: list[dict[str, str]], wanted: list[dict[str, Any]]) -> str:
    """What promtool says of alerts that are not as wanted."""
    file = folder / "test.yaml"
    test = {"interval": "1m", "input_series": series, "alert_rule_test": wanted}
    text = {"rule_files": [str(RULES)], "evaluation_interval": "30s", "tests": [test]}
    file.write_text(yaml.safe_dump(text))
    command = ["promtool", "test", "rules", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def test_each_alert_has_a_case_here_and_a_page_and_no_other_page_is_there() -> None:
    pages = {page.stem for page in RUNBOOK.glob("*.md")} - {"README"}

    assert set(CASES) == set(ALERTS) == pages


@pytest.mark.parametrize("alert", ALERTS)
def test_an_alert_asks_for_metrics_that_there_are(alert: str) -> None:
    declared = {name for metric in catalogue.METRICS for name in metric.samples}

    assert samples_in(ALERTS[alert]["expr"]) <= declared
    assert samples_in(ALERTS[alert]["expr"])


@pytest.mark.parametrize("alert", ALERTS)
def test_an_alert_leads_to_its_page_which_has_its_sections(alert: str) -> None:
    rule = ALERTS[alert]
    page = ROOT / rule["annotations"]["runbook_url"]
    headings = [line[3:] for line in page.read_text().splitlines() if line.startswith("## ")]

    assert page == RUNBOOK / f"{alert}.md"
    assert headings == list(SECTIONS)
    assert f"[{alert}]({alert}.md) | {rule['labels']['severity']} | {rule['for']} |" in (
        (RUNBOOK / "README.md").read_text()
    )
