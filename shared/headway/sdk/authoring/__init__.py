"""A DAG under construction: DAG, operators, mapped tasks, dependencies."""
