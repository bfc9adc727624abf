from pathlib import Path

import pytest

from headway.domain.errors import SettingsError
from headway.runtime.settings import configuration, database
from headway.runtime.settings.configuration import Settings
from headway.runtime.settings.database import DatabaseSettings
from headway.runtime.settings.parser import ParserSettings
from headway.runtime.settings.scheduler import SchedulerSettings
from headway.runtime.settings.worker import WorkerSettings

pytestmark = pytest.mark.usefixtures("no_settings")

ALL = [DatabaseSettings, ParserSettings, SchedulerSettings, WorkerSettings]


@pytest.mark.parametrize("kind", ALL)
def test_everything_has_a_default_and_a_description(kind: type[Settings]) -> None:
    configuration.read(kind)

    assert all(field.description for field in kind.model_fields.values())


def test_the_environment_wins_over_the_file_and_the_file_over_the_default(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "headway.toml").write_text("[worker]\nslots = 3\nmax_xcom_bytes = 2048\n")
    monkeypatch.setenv("HEADWAY_WORKER_SLOTS", "5")

    given = configuration.read(WorkerSettings)

    assert (given.slots, given.max_xcom_bytes, given.spark_driver_memory) == (5, 2048, "1g")


def test_what_is_given_in_code_wins_over_all_but_none_is_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HEADWAY_WORKER_SLOTS", "5")

    assert configuration.read(WorkerSettings, slots=7).slots == 7
    assert configuration.read(WorkerSettings, slots=None).slots == 5


def test_the_file_may_lie_anywhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "there" / "settings.toml"
    file.parent.mkdir()
    file.write_text('[parser]\ndags = "/srv/dags"\n')
    monkeypatch.setenv("HEADWAY_CONFIG", str(file))

    assert configuration.read(ParserSettings).dags == Path("/srv/dags")


def test_a_part_reads_its_own_section_only(tmp_path: Path) -> None:
    (tmp_path / "headway.toml").write_text(
        "[scheduler]\nheartbeat_interval = 1\n[logs]\nkeep_days = 1\n"
    )

    assert configuration.read(SchedulerSettings).heartbeat_interval == 1
    assert configuration.read(WorkerSettings).heartbeat_interval == 2


@pytest.mark.parametrize("text", ["etl, ml ,,", " etl,ml"])
def test_names_are_split_at_commas(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("HEADWAY_WORKER_QUEUES", text)

    assert configuration.read(WorkerSettings).queues == ("etl", "ml")


def test_names_in_the_file_are_a_list(tmp_path: Path) -> None:
    (tmp_path / "headway.toml").write_text('[worker]\nqueues = ["etl", "ml"]\n')

    assert configuration.read(WorkerSettings).queues == ("etl", "ml")


def test_properties_of_spark_are_text_as_spark_writes_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = '{"spark.a": 8, "spark.b": false, "spark.c": "x", "spark.d": 0.5}'
    monkeypatch.setenv("HEADWAY_WORKER_SPARK_CONF", given)

    found = configuration.read(WorkerSettings).spark_conf

    assert found == {"spark.a": "8", "spark.b": "false", "spark.c": "x", "spark.d": "0.5"}


def test_properties_of_spark_in_the_file_are_a_table(tmp_path: Path) -> None:
    text = '[worker.spark_conf]\n"spark.sql.shuffle.partitions" = 8\n'
    (tmp_path / "headway.toml").write_text(text)

    found = configuration.read(WorkerSettings).spark_conf

    assert found == {"spark.sql.shuffle.partitions": "8"}


def test_settings_never_change() -> None:
    given = configuration.read(WorkerSettings)

    with pytest.raises(ValueError, match="frozen"):
        given.slots = 1


@pytest.mark.parametrize(
    ("variable", "value", "kind", "message"),
    [
        (
            "HEADWAY_WORKER_SLOTS",
            "many",
            WorkerSettings,
            r"^HEADWAY_WORKER_SLOTS: .* valid integer.* \(given: 'many'\)\.$",
        ),
        (
            "HEADWAY_WORKER_SLOTS",
            "0",
            WorkerSettings,
            r"^HEADWAY_WORKER_SLOTS: .* greater than or equal to 1 \(given: '0'\)\.$",
        ),
        (
            "HEADWAY_WORKER_SPARK_CONF",
            '{"park.a": 1, "spark.b": 2}',
            WorkerSettings,
            "^HEADWAY_WORKER_SPARK_CONF: .*no properties of Spark: park.a",
        ),
        ("HEADWAY_WORKER_SPARK_CONF", "a=b", WorkerSettings, "this is not JSON"),
        (
            "HEADWAY_WORKER_SPARK_CONF",
            '{"spark.a": {"b": 1}}',
            WorkerSettings,
            r"^HEADWAY_WORKER_SPARK_CONF \(spark.a\): .*string",
        ),
        ("HEADWAY_WORKER_MAX_XCOM_BYTES", "1", WorkerSettings, "^HEADWAY_WORKER_MAX_XCOM_BYTES: "),
        (
            "HEADWAY_PARSER_DAG_DIR_LIST_INTERVAL",
            "0",
            ParserSettings,
            "^HEADWAY_PARSER_DAG_DIR_LIST_INTERVAL: .* greater than 0",
        ),
        (
            "HEADWAY_SCHEDULER_LEASE_GRACE",
            "-1",
            SchedulerSettings,
            "^HEADWAY_SCHEDULER_LEASE_GRACE: ",
        ),
        (
            "HEADWAY_SCHEDULER_SCHEDULER_HEALTH_CHECK_THRESHOLD",
            "5",
            SchedulerSettings,
            r"^\[scheduler\] scheduler_health_check_threshold must be .*_interval \(2 s\)",
        ),
        (
            "HEADWAY_SCHEDULER_SCHEDULER_HEALTH_CHECK_THRESHOLD",
            "inf",
            SchedulerSettings,
            "^HEADWAY_SCHEDULER_SCHEDULER_HEALTH_CHECK_THRESHOLD: .* finite number",
        ),
        (
            "HEADWAY_SCHEDULER_LEASE_GRACE",
            "nan",
            SchedulerSettings,
            "^HEADWAY_SCHEDULER_LEASE_GRACE: ",
        ),
        (
            "HEADWAY_SCHEDULER_NOTIFICATION_SPACING",
            "inf",
            SchedulerSettings,
            "^HEADWAY_SCHEDULER_NOTIFICATION_SPACING: .* finite number",
        ),
        (
            "HEADWAY_SCHEDULER_NOTIFICATION_GATHER_TIME",
            "86401",
            SchedulerSettings,
            "^HEADWAY_SCHEDULER_NOTIFICATION_GATHER_TIME: .* less than or equal to 86400",
        ),
        (
            "HEADWAY_SCHEDULER_OUTAGE_THRESHOLD",
            "14",
            SchedulerSettings,
            r"^\[scheduler\] outage_threshold must not be shorter than .* \(15 s\)",
        ),
        (
            "HEADWAY_SCHEDULER_ORPHANED_TASKS_CHECK_INTERVAL",
            "16",
            SchedulerSettings,
            r"^\[scheduler\] orphaned_tasks_check_interval must not be longer .* \(15 s\)",
        ),
        (
            "HEADWAY_SCHEDULER_TASK_QUEUED_TIMEOUT",
            "14",
            SchedulerSettings,
            r"^\[scheduler\] task_queued_timeout must not be shorter .* \(15 s\)",
        ),
        (
            "HEADWAY_WORKER_LEASE_DURATION",
            "10",
            WorkerSettings,
            r"^\[worker\] lease_duration must be at least three times .* kill_grace \(11 s\)",
        ),
    ],
)
def test_a_value_that_cannot_be_names_the_variable_to_mend(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, kind: type[Settings], message: str
) -> None:
    monkeypatch.setenv(variable, value)

    with pytest.raises(SettingsError, match=message):
        configuration.read(kind)


def test_values_that_are_just_consistent_are_taken() -> None:
    configuration.read(WorkerSettings, lease_duration=11, heartbeat_interval=2, kill_grace=5)
    configuration.read(SchedulerSettings, scheduler_health_check_threshold=6, heartbeat_interval=2)


def test_all_that_is_wrong_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWAY_WORKER_SLOTS", "0")
    monkeypatch.setenv("HEADWAY_WORKER_KILL_GRACE", "soon")

    with pytest.raises(SettingsError) as caught:
        configuration.read(WorkerSettings)

    lines = str(caught.value).splitlines()
    assert [line.partition(":")[0] for line in lines] == [
        "HEADWAY_WORKER_SLOTS",
        "HEADWAY_WORKER_KILL_GRACE",
    ]


def test_a_name_in_the_file_that_nobody_knows(tmp_path: Path) -> None:
    (tmp_path / "headway.toml").write_text("[worker]\nslotz = 3\n")

    with pytest.raises(SettingsError, match="slotz in \\[worker\\] is no setting"):
        configuration.read(WorkerSettings)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[worker", r"headway\.toml is not valid TOML"),
        (b"a = '\xff'", r"headway\.toml is not valid TOML"),
        (b"worker = 3", r"worker must be a section of the TOML file: write \[worker\]"),
    ],
)
def test_a_file_that_cannot_be_read(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "headway.toml").write_bytes(content)

    with pytest.raises(SettingsError, match=message):
        configuration.read(WorkerSettings)


def test_a_file_that_was_named_must_be_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HEADWAY_CONFIG", str(tmp_path / "nowhere.toml"))

    with pytest.raises(SettingsError, match=r"HEADWAY_CONFIG names .*nowhere\.toml, which is no"):
        configuration.read(WorkerSettings)


def test_home_is_here_unless_it_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert configuration.home() == tmp_path
    monkeypatch.setenv("HEADWAY_HOME", "")
    monkeypatch.chdir(tmp_path)
    assert configuration.home() == tmp_path / ".headway"


@pytest.mark.parametrize(
    ("pooler", "listen_url", "wakes"),
    [("false", "", True), ("true", "", False), ("true", "postgresql://db/headway", True)],
)
def test_notices_need_the_server_itself_and_an_address_of_nothing_is_none(
    monkeypatch: pytest.MonkeyPatch, pooler: str, listen_url: str, wakes: bool
) -> None:
    monkeypatch.setenv("HEADWAY_DATABASE_POOLER", pooler)
    monkeypatch.setenv("HEADWAY_DATABASE_LISTEN_URL", listen_url)

    assert configuration.read(database.DatabaseSettings).wakes is wakes
