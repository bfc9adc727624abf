"""Why a task is not running, and what would run under other limits."""
