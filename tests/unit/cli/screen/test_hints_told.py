"""A hint in the words of the command line."""

import pytest

from headway.cli.screen.hints import told
from headway.domain.hints import Action, Hint, Parameter, act, hint


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (hint("Did you mean etl?"), "Did you mean etl?"),
        (hint(act(Action.LIST_DAGS), " shows them all."), "`headway dags list` shows them all."),
        (hint(act(Action.LIST_RUNS)), "`headway runs list`"),
        (hint(act(Action.LIST_RUNS, dag_id="etl")), "`headway runs list etl`"),
        (
            hint(act(Action.CLEAR_TASKS, dag_id="etl", run_id="a b", tasks=("x", "y z"))),
            "`headway tasks clear etl 'a b' x 'y z' --yes`",
        ),
        (
            hint("Add ", Parameter("version", 3), ", or ", Parameter("dry_run"), "."),
            "Add `--version 3`, or `--dry-run`.",
        ),
        (hint(Parameter("from_date")), "`--from`"),
    ],
)
def test_actions_are_commands_and_parameters_are_options(given: Hint, expected: str) -> None:
    assert told(given) == expected


def test_what_an_argument_holds_is_no_template() -> None:
    run_id = "{dag_id} [x]"

    assert told(hint(act(Action.CANCEL_RUN, dag_id="etl", run_id=run_id))) == (
        "`headway runs cancel etl '{dag_id} [x]' --yes`"
    )


def test_an_argument_that_is_needed_is_missed() -> None:
    with pytest.raises(KeyError):
        told(hint(act(Action.CANCEL_RUN, dag_id="etl")))
