"""The arguments of a group of tasks, and how each is checked."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypedDict

from headway.sdk.values import checks

if TYPE_CHECKING:
    from headway.sdk.authoring.definition import DAG
    from headway.sdk.authoring.groups.task_group import TaskGroup


class GroupOptions(TypedDict, total=False):
    """What a group takes besides its id."""

    prefix_group_id: bool
    parent_group: "TaskGroup | None"
    dag: "DAG | None"
    default_args: Mapping[str, Any] | None
    tooltip: str
    group_display_name: str
    add_suffix_on_collision: bool


GROUP_OPTIONS: Final = frozenset(GroupOptions.__annotations__)

_COLOURS: Final = "groups are drawn in the colours of the page; leave it out."

REFUSED: Final[Mapping[str, str]] = {
    "doc_md": "a group has no doc_md; give what there is to say of it as tooltip.",
    "ui_color": f"there is no ui_color; {_COLOURS}",
    "ui_fgcolor": f"there is no ui_fgcolor; {_COLOURS}",
}
"""What Airflow's groups take and these do not, and what to write instead."""

CHECKS: Final[Mapping[str, checks.Check]] = {
    "prefix_group_id": checks.flag,
    "default_args": lambda value, where: checks.mapping(value or {}, where),
    "tooltip": checks.text,
    "group_display_name": checks.text,
    "add_suffix_on_collision": checks.flag,
}
