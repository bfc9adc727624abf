"""F63: DAGs of odd shapes: those that are taken over, and those that are refused."""

from tests.integration.services.parser.zoo.keeper import ANSWER, Fault

TOO_LARGE = (
    "What the file left behind cannot be used: A frame of … bytes was announced; "
    f"{ANSWER:,} is the limit."
)
MAY_HOLD = "may hold only letters of the English alphabet, digits, dashes, dots and underscores."

SHAPES = {
    "chained": (
        """
        from headway.sdk import chain
        with DAG("chained_10000"):
            chain(*[EmptyOperator(task_id=f"t{number}") for number in range(10_000)])
        """,
        10_000,
    ),
    "fans_out": (
        """
        with DAG("fans_out_10000"):
            first = EmptyOperator(task_id="first")
            first >> [EmptyOperator(task_id=f"t{number}") for number in range(9_999)]
        """,
        10_000,
    ),
    "maps": (  # it is read in a quarter of a second: too short to edit another file meanwhile
        """
        import time
        from headway.sdk import task
        time.sleep(1)
        with DAG("maps_100000"):
            @task
            def work(number): ...
            work.expand(number=list(range(100_000)))
        """,
        1,
    ),
}
"""What is accepted, and how many tasks that is."""

MISSHAPEN = {
    "depends_on_itself": Fault(
        """
        with DAG("circle"):
            only = EmptyOperator(task_id="only")
            only >> only
        """,
        "…DAG 'circle'…only…",
    ),
    "turns_in_a_large_circle": Fault(
        """
        from headway.sdk import chain
        with DAG("circle"):
            tasks = [EmptyOperator(task_id=f"t{number}") for number in range(3_000)]
            chain(*tasks, tasks[0])
        """,
        "DAG 'circle' has a cycle: t0 -> t1 -> …",
    ),
    "is_dense": Fault(
        """
        with DAG("dense"):
            long = "a_task_of_a_dense_dag_" * 9  # fewer tasks than with short ids say too much
            tasks = [EmptyOperator(task_id=f"{long}{number}") for number in range(250)]
            for number, task in enumerate(tasks):
                task.set_downstream(tasks[number + 1:])
        """,
        TOO_LARGE,
    ),
    "maps_too_much": Fault(
        """
        from headway.sdk import task
        with DAG("maps"):
            @task
            def work(number): ...
            work.expand(number=list(range(100_001)))
        """,
        "DAG 'maps', task 'work': It is expanded over number (100,001 items), which makes 100,001 "
        "instances; max_map_length allows 100,000. Let each instance do more.",
    ),
    "has_a_long_id": Fault(
        "with DAG('x'): EmptyOperator(task_id='x' * 2**20)",
        f"…A task id must have 1 to 250 characters; '{'x' * 60}' has 1048576.",
    ),
    "has_a_slash": Fault("DAG('../x')", f"…The DAG id '../x' {MAY_HOLD}"),
    "has_dots": Fault("DAG('..')", f"…The DAG id '..' {MAY_HOLD}"),
    "has_a_nul": Fault("DAG('a\\0b')", f"…The DAG id 'a\\x00b' {MAY_HOLD}"),
    "has_a_rocket": Fault(
        "with DAG('x'): EmptyOperator(task_id='\\N{ROCKET}')", f"…The task id '🚀' {MAY_HOLD}"
    ),
    "has_a_mark": Fault("DAG('e\\u0301')", f"…The DAG id 'e\u0301' {MAY_HOLD}"),
    "has_a_nul_in_its_words": Fault("DAG('x', description='a\\0b')", "…NUL…"),
    "has_half_a_character": Fault("DAG('x', description='\\ud800')", "…"),
}
