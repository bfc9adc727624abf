"""What `headway.testing` offers to authors of DAGs, and the pytest plugin."""
