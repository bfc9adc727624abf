"""What fills a task's context: task instance, variables, connections, templates, macros."""
