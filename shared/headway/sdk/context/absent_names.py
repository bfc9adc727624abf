"""What to write instead of names of `ti` and `dag_run` that Airflow has and Headway has not."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Final

_PREVIOUS: Final = (
    "use prev_data_interval_start_success and its like of the context, or "
    "ti.xcom_pull(include_prior_dates=True)"
)
_DATABASE: Final = "a task has no way to Headway's database; use the API (docs/api.md)"

IN_PLACE_OF_RUN: Final[Mapping[str, str]] = {
    "dag": "use context['dag']",
    "get_dag": "use context['dag']",
    "get_previous_dagrun": _PREVIOUS,
    "get_previous_scheduled_dagrun": _PREVIOUS,
    "get_task_instance": _DATABASE,
    "get_task_instances": _DATABASE,
    "id": "use dag_run.run_id",
    "is_backfill": "use dag_run.run_type",
    "refresh_from_db": _DATABASE,
    "set_state": _DATABASE,
}

IN_PLACE_OF_INSTANCE: Final[Mapping[str, str]] = {
    "clear_xcom_data": _DATABASE,
    "get_previous_dagrun": _PREVIOUS,
    "get_previous_start_date": "use prev_start_date_success of the context",
    "get_previous_ti": _PREVIOUS,
    "get_task_breadcrumbs": _DATABASE,
    "get_task_states": _DATABASE,
    "get_ti_count": _DATABASE,
    "next_try_number": "use ti.try_number + 1",
    "previous_start_date_success": "use prev_start_date_success of the context",
    "previous_ti": _PREVIOUS,
    "previous_ti_success": _PREVIOUS,
    "refresh_from_db": _DATABASE,
    "render_templates": "the fields are rendered already; use the attributes of ti.task",
    "set_state": _DATABASE,
}


def no_such_name(
    owner: str, name: str, known: Iterable[str], in_place: Mapping[str, str]
) -> AttributeError:
    """Return the error for a name that `ti` or `dag_run` has not."""
    if name in in_place:
        return AttributeError(f"{owner} has no {name}: {in_place[name]}.")
    near = get_close_matches(name, known)
    hint = f"did you mean {' or '.join(near)}?" if near else f"it has {', '.join(sorted(known))}."
    return AttributeError(f"{owner} has no {name}; {hint}")
