"""Programs that tasks start: bash, and functions in another Python with its virtual environment."""
