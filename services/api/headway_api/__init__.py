"""The api service: HTTP for people, scripts and Airflow's clients."""
