"""What the conf of a DAG's runs may have."""

import json
from typing import TYPE_CHECKING

from headway.cli.screen.output import Format

if TYPE_CHECKING:
    from headway.domain.dag.params import KnownParam

COLUMNS = ("name", "type", "default", "description")


def show_params(dag_id: str, output: Format) -> None:
    """Show the params of a DAG: types, defaults, descriptions, and as JSON also the schemas."""
    from headway.actions.lookup import current_dag
    from headway.cli.input.session import transaction
    from headway.cli.screen.output import show
    from headway.domain.dag.params import known_params

    with transaction() as conn:
        found = known_params(current_dag(conn, dag_id).spec)
    rows = [
        {
            "name": it.name,
            "type": it.kind,
            "default": it.value if output is Format.JSON else _default(it),
            "required": it.is_required,
            "description": it.told,
            "schema": dict(it.schema),
        }
        for it in found
    ]
    show(rows, COLUMNS, output)


def _default(param: "KnownParam") -> str:
    return "(required)" if param.is_required else json.dumps(param.value, ensure_ascii=False)
