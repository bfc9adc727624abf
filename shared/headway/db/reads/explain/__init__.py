"""What an explanation of a waiting task is found in: the queue, the run, the task."""
