"""What parsers write: DAG files, bundles, DAGs as their files say, versions and their code."""
