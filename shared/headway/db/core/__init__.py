"""SQL that every role runs: engines, processes, events, notices, and what all read of versions."""
