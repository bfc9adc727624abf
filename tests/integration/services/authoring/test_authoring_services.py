"""What authors may write, run by the real services."""

import pytest

from headway.actions.dags.detail import dag_detail
from headway.db.reads.task_views import TaskView
from headway.domain.arguments import JsonValue
from headway.testing.services.stack import Stack
from headway.testing.services.stack_run import StackRun

pytestmark = pytest.mark.services


def ended_before(task: TaskView, other: TaskView) -> bool:
    assert task.ended_at is not None
    assert other.started_at is not None
    return task.ended_at <= other.started_at


@pytest.fixture(scope="module")
def with_block(stack: Stack) -> StackRun:
    return stack.run("with_block", {"limit": 10})


@pytest.mark.parametrize(
    ("task_id", "value"),
    [
        ("decorated", "UA 10"),
        ("decorated_bash", "from Newark, UA"),
        ("bash", "three"),
        ("python", {"sum": 7, "task": "python"}),
        ("own", "UA FLIES ON ATTEMPT 1"),
    ],
)
def test_each_kind_of_task_runs(with_block: StackRun, task_id: str, value: JsonValue) -> None:
    assert with_block.states()[task_id] == "success"
    assert with_block.xcom(task_id) == value


def test_an_empty_task_succeeds_and_leaves_nothing(with_block: StackRun) -> None:
    assert with_block.states()["empty"] == "success"
    with pytest.raises(KeyError):
        with_block.xcom("empty")


def test_what_a_task_prints_is_in_its_log(with_block: StackRun) -> None:
    lines = [line.split("  ", 1)[1] for line in with_block.log("bash").splitlines()]

    assert [line for line in lines if not line.startswith(("[headway]", "/"))] == [
        "one",
        "two",
        "three",
    ]


def test_a_decorated_function_makes_a_dag(stack: Stack) -> None:
    run = stack.run("of_a_function")

    assert (run.state, run.xcom("greet")) == ("success", "good day")


def test_a_dag_is_stored_with_what_describes_it(stack: Stack, with_block: StackRun) -> None:
    row = stack.dag("with_block")

    assert (row.tags, row.description, row.paused) == (
        ["east", "north"],
        "Kinds of tasks",
        False,
    )
    assert (row.max_active_runs, row.max_active_tasks, row.tasks) == (16, 16, 6)


@pytest.mark.parametrize(
    ("dag_id", "edges"),
    [
        ("arrows", "ab ac bd cd de"),
        ("chained", "ab ac bd ce df ef"),
        ("crossed", "ac ad bc bd"),
        ("by_method", "ab bc"),
    ],
)
def test_tasks_wait_for_their_upstream(stack: Stack, dag_id: str, edges: str) -> None:
    run = stack.run(dag_id)
    tasks = run.tasks()

    with stack.engine.connect() as conn:
        found = dag_detail(conn, dag_id).tasks
    stored = sorted(f"{above}{task.task_id}" for task in found for above in task.upstream)
    assert (run.state, stored) == ("success", edges.split())
    for edge in stored:
        assert ended_before(tasks[edge[0]], tasks[edge[1]])


@pytest.mark.parametrize(
    ("way", "left", "right", "join"),
    [
        ("left", "success", "skipped", "success"),
        ("right", "skipped", "success", "success"),
        (["left", "right"], "success", "success", "success"),
        (None, "skipped", "skipped", "skipped"),
    ],
)
def test_a_branch_skips_what_it_does_not_choose(
    stack: Stack, way: JsonValue, left: str, right: str, join: str
) -> None:
    run = stack.run("branching", {"way": way})

    assert run.states() == {
        "choose": "success",
        "left": left,
        "right": right,
        "behind_right": right,
        "join": join,
    }
    assert run.state == "success"


def test_a_branch_to_no_downstream_task_fails(stack: Stack) -> None:
    run = stack.run("branching", {"way": "join"})

    assert run.states()["choose"] == "failed"
    assert run.attempt("choose").error == (
        "The branch 'choose' chose 'join', which is no direct downstream task of it; "
        "these are: left, right."
    )


@pytest.mark.parametrize(("go", "state"), [(True, "success"), (0, "skipped"), ([], "skipped")])
def test_a_short_circuit_skips_what_lies_behind(stack: Stack, go: JsonValue, state: str) -> None:
    run = stack.run("short_circuit", {"go": go})

    assert run.states() == {
        "gate": "success",
        "direct": state,
        "further": state,
        "whatever": state,
        "lenient_gate": "success",
        "lenient_direct": state,
        "lenient_further": state,
        "lenient_whatever": "success",
    }
    assert run.state == "success"


@pytest.mark.parametrize(
    ("failing", "states", "run_state"),
    [
        ("none", "success success success", "success"),
        ("work", "success failed success", "failed"),
        ("teardown", "success success failed", "success"),
        ("setup", "failed upstream_failed upstream_failed", "failed"),
    ],
)
def test_a_teardown_runs_if_its_setup_succeeded(
    stack: Stack, failing: str, states: str, run_state: str
) -> None:
    run = stack.run("cleaning_up", {failing: False})

    found = run.states()
    assert (found["prepare"], found["work"], found["clean"]) == tuple(states.split())
    assert run.state == run_state


def test_a_function_runs_in_another_python(stack: Stack) -> None:
    run = stack.run("another_python")

    assert run.states() == {"where": "success", "broken": "failed"}
    assert run.xcom("where") == [True, "left", run.run_id]
    assert run.attempt("broken").error == "LookupError: nothing beyond left"
    log = run.log("broken")
    assert "raise LookupError" in log
    assert "The virtual environment is " in log


def test_operators_decide_and_clean_up_as_the_decorators_do(stack: Stack) -> None:
    run = stack.run("by_operators")

    assert run.states() == {
        "create": "success",
        "branch": "success",
        "used": "success",
        "unused": "skipped",
        "gate": "success",
        "behind_gate": "skipped",
        "broken": "failed",
        "drop": "success",
    }
    assert run.state == "failed"
