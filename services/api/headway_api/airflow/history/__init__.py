"""What DAGs were and what was done: versions, code, the journal, problems of files, counts."""
