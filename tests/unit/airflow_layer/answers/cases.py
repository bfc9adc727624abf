"""DAG files in which Airflow and Headway once differed without an error, as each reads them.

A task, a callback or a command tells what it sees by `say`, a line of JSON each.
"""

from typing import Final

from tests.unit.airflow_layer.answers.case import Case
from tests.unit.airflow_layer.answers.group_cases import (
    MAPPED_GROUP,
    MAPPED_GROUP_ARGUMENTS,
    MAPPED_GROUP_CHOICES,
    MAPPED_GROUP_FAILURES,
)

DATE: Final = "2024-01-05"
"""The logical date of all runs."""

SAYING: Final = """
import json
import os


def say(key, value):
    with open(os.environ["SAID"], "a") as out:
        out.write(json.dumps([key, value]) + "\\n")
"""
"""The module `saying`, beside the DAG files."""

HEAD: Final = """
from datetime import datetime, timedelta, timezone

from airflow.sdk import DAG, BaseOperator, dag, task
from airflow.providers.standard.operators.bash import BashOperator
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.providers.standard.operators.python import PythonOperator, ShortCircuitOperator
from saying import say

START = datetime(2024, 1, 1, tzinfo=timezone.utc)
"""


ATTRS_AFTER = Case(
    """
def fail():
    raise ValueError("as it should")

with DAG("attrs_after", schedule=None, start_date=START) as made:
    a = PythonOperator(task_id="a", python_callable=fail)
    b = PythonOperator(task_id="b", python_callable=lambda: say("b", "runs"))
    c = PythonOperator(task_id="c", python_callable=lambda: say("c", [made.doc_md, b.doc_md]))
    a >> b >> c
    b.trigger_rule = "all_done"
    b.doc_md = "of b"
made.doc_md = "of the DAG"
""",
    ("attrs_after",),
)

INTERVAL = Case(
    """
with DAG("interval", schedule="@daily", start_date=START, catchup=False):
    @task
    def told(ds, data_interval_start, data_interval_end, logical_date):
        say("ds", ds)
        say("interval", [data_interval_start.isoformat(), data_interval_end.isoformat()])
        say("logical_date", logical_date.isoformat())
    told()
""",
    ("interval",),
)

DAG_PARAM = Case(
    """
@dag(schedule=None, start_date=START)
def dag_param(word="default"):
    @task
    def tell(told):
        say("word", told)
    tell(word)

dag_param()
""",
    ("dag_param",),
    {"word": "given"},
)

HOOKS = Case(
    """
class Own(BaseOperator):
    def pre_execute(self, context):
        say("pre", context["ds"])

    def execute(self, context):
        say("execute", None)
        return 7

    def post_execute(self, context, result=None):
        say("post", result)

with DAG("hooks", schedule=None, start_date=START):
    Own(task_id="own")
""",
    ("hooks",),
)

SHORT_CIRCUIT = Case(
    """
with DAG("short_circuit", schedule=None, start_date=START):
    s = ShortCircuitOperator(task_id="s", python_callable=lambda: False)
    m = EmptyOperator(task_id="m")
    s >> m >> EmptyOperator(task_id="e", trigger_rule="all_done")

with DAG("short_circuit_rules", schedule=None, start_date=START):
    s = ShortCircuitOperator(
        task_id="s", python_callable=lambda: False, ignore_downstream_trigger_rules=False
    )
    m = EmptyOperator(task_id="m")
    s >> m >> PythonOperator(task_id="e", python_callable=lambda: None, trigger_rule="all_done")
""",
    ("short_circuit", "short_circuit_rules"),
)

MAPPED = Case(
    """
from airflow.sdk.exceptions import AirflowSkipException

with DAG("mapped", schedule=None, start_date=START):
    @task
    def pair():
        return (1, 2)

    @task
    def kind(value):
        say("tuple", [type(value).__name__, list(value)])

    @task
    def one(x):
        if x == 1:
            raise AirflowSkipException("not this one")
        return x

    @task
    def total(xs):
        say("list", sorted(xs))

    @task
    def alone(x):
        return x

    @task
    def pulls(ti):
        say("pulled", ti.xcom_pull(task_ids="alone"))

    kind(pair())
    total(one.expand(x=[1, 2, 3]))
    alone.expand(x=[7]) >> pulls()
""",
    ("mapped",),
)

LAZY = Case(
    """
NAMES = [
    "prev_data_interval_start_success", "prev_data_interval_end_success",
    "prev_start_date_success", "prev_end_date_success",
]

def tell(**context):
    for name in NAMES:
        say(name, str(context[name]))
        say(f"get {name}", str(context.get(name, "absent")))

with DAG("lazy", schedule=None, start_date=START):
    PythonOperator(task_id="tell", python_callable=tell)
""",
    ("lazy",),
)

OWN_OPTIONS = Case(
    """
class Own(BaseOperator):
    def __init__(self, **options):
        super().__init__(**options)
        self.name_there = self.task_id

    def execute(self, context):
        self.log.info("said")
        say("name", self.name_there)
        say("retries", self.retries)
        say("retry_delay", self.retry_delay.total_seconds())
        say("trigger_rule", str(self.trigger_rule.value))
        say("pool", self.pool)
        say("queue", self.queue)
        say("owner", self.owner)
        say("dag", self.dag.dag_id)
        say("depends_on_past", self.depends_on_past)
        say("upstream", sorted(self.upstream_task_ids))
        say("type", self.task_type)

with DAG("own_options", schedule=None, start_date=START, default_args={"owner": "ann"}):
    Own(task_id="own", retries=2, retry_delay=timedelta(seconds=9), trigger_rule="all_done")
""",
    ("own_options",),
)

CALLBACKS = Case(
    """
def of_task(context):
    ti = context["task_instance"]
    say("task", [ti.task_id, ti.dag_id, ti.try_number, type(ti.log_url).__name__])
    say("same", context["ti"].task_id)
    say("exception", str(context["exception"]))
    say("task_date", [context["ds"], context["dag"].dag_id, context["task"].task_id])

def of_dag(context):
    say("dag", [context["dag"].dag_id, "run_id" in context])
    say("reason", isinstance(context["reason"], str))

def fail():
    raise ValueError("as it should")

with DAG("callbacks", schedule=None, start_date=START, on_failure_callback=of_dag):
    PythonOperator(task_id="t", python_callable=fail, on_failure_callback=of_task)
""",
    ("callbacks",),
)

XCOMS = Case(
    """
from decimal import Decimal

VALUES = {
    "set": {1, 2},
    "frozenset": frozenset({1, 2}),
    "tuple": (1, (2, 3)),
    "aware": datetime(2024, 1, 5, 6, tzinfo=timezone.utc),
    "int_keys": {1: "a", 2: "b"},
    "bytes": b"raw",
    "decimal": Decimal("1.50"),
    "timedelta": timedelta(minutes=3),
    "nan": float("nan"),
}

with DAG("xcoms", schedule=None, start_date=START):
    for name, value in VALUES.items():
        @task(task_id=f"push_{name}")
        def push(name):
            return VALUES[name]

        @task(task_id=f"pull_{name}")
        def pull(name, value):
            same = value == VALUES[name]
            say(name, [type(value).__name__, same])

        pull(name, push(name))
""",
    ("xcoms",),
)

MACROS = Case(
    """
TEMPLATES = {
    "ds_add": "{{ macros.ds_add(ds, 2) }}",
    "ds_format": "{{ macros.ds_format(ds, '%Y-%m-%d', '%d.%m.%Y') }}",
    "dateutil": "{{ macros.dateutil.parser.parse('2024-02-01').day }}",
    "time": "{{ macros.time.strftime('%Y', macros.time.gmtime(0)) }}",
    "uuid": "{{ macros.uuid.UUID(int=1) }}",
    "random": "{{ macros.random() < 1 }}",
    "json": "{{ macros.json.dumps([1]) }}",
    "datetime": "{{ macros.datetime(2024, 1, 2).day }}",
    "timedelta": "{{ macros.timedelta(days=1).days }}",
    "diff": "{{ macros.datetime_diff_for_humans(logical_date, logical_date.add(days=-1)) }}",
    "key": "{{ task_instance_key_str }}",
    "ds_nodash": "{{ ds_nodash }}",
    "ts": "{{ ts }} {{ ts_nodash }} {{ ts_nodash_with_tz }}",
    "dag_owner": "{{ dag.owner }}",
    "task_owner": "{{ task.owner }}",
    "started": "{{ ti.start_date is not none }}",
    "run_type": "{{ dag_run.run_type }}",
    "conf": "{{ dag_run.conf['word'] }}",
    "params": "{{ params.limit }}",
    "logical_date": "{{ logical_date.strftime('%H') }} {{ dag_run.logical_date | ds }}",
}

def tell(**given):
    for name in TEMPLATES:
        say(name, given[name])

with DAG(
    "macros", schedule=None, start_date=START, default_args={"owner": "ann"}, params={"limit": 3}
):
    PythonOperator(task_id="tell", python_callable=tell, op_kwargs=TEMPLATES)
""",
    ("macros",),
    {"word": "given"},
)

PULLS = Case(
    """
with DAG("pulls_from", schedule=None, start_date=START):
    @task
    def left():
        return 5
    left()

with DAG("pulls", schedule=None, start_date=START):
    @task
    def mine():
        return 6

    @task
    def pull(ti):
        say("own", ti.xcom_pull(task_ids="mine"))
        say("several", list(ti.xcom_pull(task_ids=["mine", "absent"])))
        say("absent", ti.xcom_pull(task_ids="absent"))
        say("default", ti.xcom_pull(task_ids="mine", key="other", default="none"))
        say("prior", ti.xcom_pull(task_ids="mine", include_prior_dates=True))
        say("dag_id", ti.xcom_pull(dag_id="pulls", task_ids="mine"))

    mine() >> pull()
""",
    ("pulls",),
)

NAMES = Case(
    """
ASKED = {
    "ti": [
        "task_id", "dag_id", "run_id", "map_index", "try_number", "max_tries", "start_date",
        "end_date", "duration", "state", "hostname", "task", "xcom_pull", "xcom_push", "log_url",
        "mark_success_url", "get_template_context", "pool", "queue", "operator", "key", "log",
        "is_mapped", "render_templates", "get_dagrun",
    ],
    "dag_run": [
        "dag_id", "run_id", "run_type", "conf", "logical_date", "data_interval_start",
        "data_interval_end", "run_after", "start_date", "end_date", "state", "queued_at",
        "external_trigger", "clear_number", "triggering_user_name",
    ],
    "dag": [
        "dag_id", "tags", "schedule", "start_date", "end_date", "catchup", "default_args",
        "params", "description", "doc_md", "max_active_runs", "max_active_tasks", "timetable",
        "timezone", "owner", "task_ids", "task_dict", "tasks", "fileloc", "folder", "roots",
        "leaves", "get_task", "has_task", "task_count", "dagrun_timeout", "is_paused_upon_creation",
        "dag_display_name", "template_searchpath", "user_defined_macros", "test",
    ],
    "task": [
        "task_id", "dag", "dag_id", "owner", "retries", "retry_delay", "trigger_rule", "pool",
        "pool_slots", "queue", "priority_weight", "weight_rule", "depends_on_past", "start_date",
        "end_date", "execution_timeout", "email", "email_on_failure", "email_on_retry",
        "upstream_task_ids", "downstream_task_ids", "upstream_list", "downstream_list", "doc_md",
        "task_type", "template_fields", "template_ext", "log", "params", "task_group", "label",
        "on_failure_callback", "on_success_callback", "do_xcom_push", "task_display_name",
        "get_direct_relatives", "is_setup", "is_teardown", "max_active_tis_per_dag",
        "render_template_fields", "map_index_template", "run_as_user", "executor_config",
    ],
}

def tell(**context):
    for name, attributes in ASKED.items():
        for attribute in attributes:
            say(f"{name}.{attribute}", hasattr(context[name], attribute))

with DAG("names", schedule=None, start_date=START):
    PythonOperator(task_id="tell", python_callable=tell)
""",
    ("names",),
)

BASH_ENV = Case(
    """
TELL = '''for each in DAG_ID TASK_ID LOGICAL_DATE TRY_NUMBER DAG_OWNER DAG_EMAIL; do
name="AIRFLOW_CTX_$each"; printf '["%s", "%s"]\\\\n' "$each" "${!name-absent}" >> "$SAID"; done
printf '["RUN", "%s"]\\\\n' "${AIRFLOW_CTX_DAG_RUN_ID:+there}" >> "$SAID"'''

with DAG("bash_env", schedule=None, start_date=START, default_args={"owner": "ann"}):
    BashOperator(task_id="tell", bash_command=TELL)
""",
    ("bash_env",),
)

TASK_DATES = Case(
    """
LATE, EARLY = datetime(2024, 1, 6, tzinfo=timezone.utc), datetime(2024, 1, 4, tzinfo=timezone.utc)
ON = datetime(2024, 1, 5, tzinfo=timezone.utc)

with DAG("task_dates", schedule=None, start_date=START):
    EmptyOperator(task_id="late", start_date=LATE)
    EmptyOperator(task_id="over", end_date=EARLY)
    EmptyOperator(task_id="first_day", start_date=ON)
    EmptyOperator(task_id="last_day", end_date=ON)

with DAG("task_dates_below", schedule=None, start_date=START):
    late = EmptyOperator(task_id="late", start_date=LATE)
    late >> PythonOperator(task_id="below", python_callable=lambda: None)
    late >> PythonOperator(task_id="done", python_callable=lambda: None, trigger_rule="all_done")
""",
    ("task_dates", "task_dates_below"),
)

CASES: Final = {
    "attrs_after": ATTRS_AFTER,
    "interval": INTERVAL,
    "dag_param": DAG_PARAM,
    "hooks": HOOKS,
    "short_circuit": SHORT_CIRCUIT,
    "mapped": MAPPED,
    "lazy": LAZY,
    "own_options": OWN_OPTIONS,
    "callbacks": CALLBACKS,
    "xcoms": XCOMS,
    "macros": MACROS,
    "pulls": PULLS,
    "names": NAMES,
    "bash_env": BASH_ENV,
    "task_dates": TASK_DATES,
    "mapped_group": MAPPED_GROUP,
    "mapped_group_arguments": MAPPED_GROUP_ARGUMENTS,
    "mapped_group_choices": MAPPED_GROUP_CHOICES,
    "mapped_group_failures": MAPPED_GROUP_FAILURES,
}
"""The cases by name; the name is that of the file."""


def files() -> dict[str, str]:
    """Return the text of every file of the folder by its name."""
    return {"saying.py": SAYING} | {
        f"{name}.py": HEAD + case.source for name, case in CASES.items()
    }
