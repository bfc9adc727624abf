"""What a DAG file written for Airflow imports: `airflow` and its modules, given by Headway.

No folder `airflow` is shipped. `finder.install()` gives the modules to a process; nothing of this
package is imported before a file imports `airflow`.
"""
