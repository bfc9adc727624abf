"""What a DAG file specifies: tasks, rules, retries, callbacks, deadlines, notifiers."""
