"""DAG files with mapped task groups, which a real Airflow and Headway run alike."""

from typing import Final

from tests.unit.airflow_layer.answers.case import Case

MAPPED_GROUP: Final = Case(
    """
from airflow.sdk import task_group
from airflow.sdk.exceptions import AirflowSkipException

with DAG("mapped_group", schedule=None, start_date=START):
    @task
    def numbers():
        return [1, 2, 3, 4]

    @task
    def first(x):
        if x == 2:
            raise ValueError("as it should")
        if x == 3:
            raise AirflowSkipException("not this one")
        return 10 * x

    @task
    def second(x, y):
        say(f"second {x}", y)
        return x + y

    @task(trigger_rule="all_done")
    def third(x):
        say(f"third {x}", None)

    @task(trigger_rule="none_failed")
    def fourth(x):
        say(f"fourth {x}", None)

    @task_group
    def each(x):
        got = first(x)
        second(x, got) >> [third(x), fourth(x)]
        return got

    @task(trigger_rule="all_done")
    def after(values):
        say("after", sorted(values))

    @task
    def well(values):
        say("well", sorted(values))

    left = each.expand(x=numbers())
    after(left)
    well(left)
""",
    ("mapped_group",),
)

MAPPED_GROUP_ARGUMENTS: Final = Case(
    """
from airflow.sdk import TaskGroup, task_group

with DAG("mapped_group_arguments", schedule=None, start_date=START):
    @task
    def outside():
        return "o"

    @task
    def letters():
        return ["a", "b"]

    @task
    def rows():
        return [{"a": 1, "b": 2}, {"a": 3, "b": 4}]

    @task
    def left(value, **context):
        return f"<{value}>"

    @task
    def tell(name, values, ti):
        say(f"{name}[{ti.map_index}]", values)

    @task
    def pull(task_ids, ti):
        pulled = ti.xcom_pull(task_ids=task_ids)
        say(f"pull[{ti.map_index}]", sorted(pulled) if not isinstance(pulled, str) else pulled)
        say(f"pull own[{ti.map_index}]", ti.xcom_pull(task_ids=task_ids, map_indexes=ti.map_index))

    @task_group
    def many(x, y, z):
        out = left(x)
        with TaskGroup("inner"):
            told = tell("many", {"in": [x, y, z], "out": out, "outside": outside_value})
            told >> pull("many.left")
        return out

    @task_group
    def by_rows(a, b):
        tell("rows", [a, b])

    @task_group
    def texts(x):
        BashOperator(
            task_id="echo",
            bash_command='printf \\'["echo %s", "%s"]\\\\n\\' "$N" "$X" >> "$SAID"',
            env={"X": x, "N": "{{ ti.map_index }}"},
            append_env=True,
        )

    @task
    def total(values):
        say("total", sorted(values))

    outside_value = outside()
    total(many.partial(z=9).expand(x=letters(), y=[1, 2]))
    by_rows.expand_kwargs(rows())
    texts.expand(x=["plain", "{{ ds }}"])
""",
    ("mapped_group_arguments",),
)

MAPPED_GROUP_CHOICES: Final = Case(
    """
from airflow.sdk import task_group

with DAG("mapped_group_choices", schedule=None, start_date=START):
    @task.branch
    def choose(x):
        return "pick.odd" if x % 2 else "pick.even"

    @task
    def odd(x):
        pass

    @task
    def even(x):
        pass

    @task(trigger_rule="none_failed_min_one_success")
    def join(x):
        pass

    @task_group
    def pick(x):
        chosen = choose(x)
        both = [odd(x), even(x)]
        chosen >> both >> join(x)

    @task.short_circuit
    def go_on(x):
        return x > 1

    @task
    def work(x):
        pass

    @task(trigger_rule="all_done")
    def close(x):
        pass

    @task_group
    def stop(x):
        go_on(x) >> work(x) >> close(x)

    @task(trigger_rule="none_failed")
    def after():
        pass

    @task
    def strict():
        pass

    @task
    def nothing():
        return []

    @task
    def one(x):
        pass

    @task
    def two():
        pass

    @task_group
    def empty(x):
        one(x) >> two()

    @task(trigger_rule="all_done")
    def after_empty():
        pass

    pick.expand(x=[1, 2])
    stop.expand(x=[1, 2]) >> [after(), strict()]
    empty.expand(x=nothing()) >> after_empty()
""",
    ("mapped_group_choices",),
)

MAPPED_GROUP_FAILURES: Final = Case(
    """
from airflow.sdk import setup, task_group, teardown
from airflow.sdk.exceptions import AirflowSkipException

with DAG("mapped_group_failures", schedule=None, start_date=START):
    @task
    def broken():
        raise ValueError("as it should")

    @task
    def skipped():
        raise AirflowSkipException("as it should")

    @task
    def one(x):
        pass

    @task
    def two():
        pass

    @task(trigger_rule="all_done")
    def done():
        pass

    @task_group
    def of_broken(x):
        one(x) >> [two(), done()]

    @task_group
    def of_skipped(x):
        one(x) >> [two(), done()]

    @task_group
    def below_broken(x):
        one(x) >> [two(), done()]

    @task_group
    def inner_broken(x):
        fails >> two()
        one(x) >> done()

    fails = broken()
    of_broken.expand(x=fails)
    of_skipped.expand(x=skipped())
    fails >> below_broken.expand(x=[1, 2])
    inner_broken.expand(x=[1, 2])

with DAG("mapped_group_setup", schedule=None, start_date=START):
    @setup
    def make(x):
        if x == 2:
            raise ValueError("as it should")
        say(f"make {x}", None)

    @task
    def use(x):
        say(f"use {x}", None)

    @teardown
    def remove(x):
        say(f"remove {x}", None)

    @task_group
    def with_setup(x):
        made = make(x)
        made >> use(x) >> remove(x).as_teardown(setups=made)

    @task
    def after():
        say("after", None)

    with_setup.expand(x=[1, 2]) >> after()
""",
    ("mapped_group_failures", "mapped_group_setup"),
)
