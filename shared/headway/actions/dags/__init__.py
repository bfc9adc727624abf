"""What users do with a DAG: pause it, read its history, delete it."""
