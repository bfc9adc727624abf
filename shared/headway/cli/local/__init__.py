"""`headway dags test`: a DAG in this process, without a database."""
