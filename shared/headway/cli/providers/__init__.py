"""Provider packages of Airflow: what they require besides Airflow, and how that is installed."""
