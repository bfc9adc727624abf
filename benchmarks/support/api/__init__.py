"""What measures the API: its process, what requests ask the database, and watchers."""
