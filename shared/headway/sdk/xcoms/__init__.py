"""XComs in a task's process: what is stored of a value, and the value that it was."""
