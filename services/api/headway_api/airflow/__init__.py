"""The paths of Airflow's REST API v2, with the shapes that its clients know."""
