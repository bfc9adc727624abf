"""Words of Airflow's `access_control`, an argument that has no effect here."""

from typing import Final

ACTION_CAN_READ: Final = "can_read"
ACTION_CAN_EDIT: Final = "can_edit"
ACTION_CAN_CREATE: Final = "can_create"
ACTION_CAN_DELETE: Final = "can_delete"
ACTION_CAN_ACCESS_MENU: Final = "menu_access"
RESOURCE_DAG: Final = "DAGs"
RESOURCE_DAG_RUN: Final = "DAG Runs"
