"""Which name of which module of Airflow has which counterpart; by subject."""
