"""Operators of one kind of database that providers had: each is SQLExecuteQueryOperator by now."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, TypeAlias

_Base: TypeAlias = Any
_SQL: _Base = import_module("airflow.providers.common.sql.operators.sql")


class FormerSqlOperator(_SQL.SQLExecuteQueryOperator):  # type: ignore[misc]
    """Run SQL on the connection `conn_id`; `told` are arguments of its hook, None for unsaid."""

    def __init__(self, conn_id: str, told: Mapping[str, object], **options: Any) -> None:
        given = {name: value for name, value in told.items() if value is not None}
        given.update(options.pop("hook_params", None) or {})
        super().__init__(conn_id=conn_id, hook_params=given or None, **options)


class PostgresOperator(FormerSqlOperator):
    """Run SQL on a Postgres."""

    def __init__(
        self,
        *,
        postgres_conn_id: str = "postgres_default",
        database: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(postgres_conn_id, {"database": database}, **options)


class MySqlOperator(FormerSqlOperator):
    """Run SQL on a MySQL."""

    def __init__(
        self, *, mysql_conn_id: str = "mysql_default", database: str | None = None, **options: Any
    ) -> None:
        super().__init__(mysql_conn_id, {"schema": database}, **options)


class SqliteOperator(FormerSqlOperator):
    """Run SQL on an SQLite file."""

    def __init__(self, *, sqlite_conn_id: str = "sqlite_default", **options: Any) -> None:
        super().__init__(sqlite_conn_id, {}, **options)


class MsSqlOperator(FormerSqlOperator):
    """Run SQL on a Microsoft SQL Server."""

    def __init__(
        self, *, mssql_conn_id: str = "mssql_default", database: str | None = None, **options: Any
    ) -> None:
        super().__init__(mssql_conn_id, {"schema": database}, **options)


class JdbcOperator(FormerSqlOperator):
    """Run SQL by JDBC."""

    def __init__(self, *, jdbc_conn_id: str = "jdbc_default", **options: Any) -> None:
        super().__init__(jdbc_conn_id, {}, **options)


class SnowflakeOperator(FormerSqlOperator):
    """Run SQL on Snowflake."""

    def __init__(
        self,
        *,
        snowflake_conn_id: str = "snowflake_default",
        warehouse: str | None = None,
        database: str | None = None,
        role: str | None = None,
        schema: str | None = None,
        session_parameters: Mapping[str, object] | None = None,
        **options: Any,
    ) -> None:
        told = {
            "warehouse": warehouse,
            "database": database,
            "role": role,
            "schema": schema,
            "session_parameters": session_parameters,
        }
        super().__init__(snowflake_conn_id, told, **options)
